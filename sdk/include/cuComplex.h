// cuFloatComplex, cuDoubleComplex and their arithmetic; for C as well.
#ifndef CU_COMPLEX_H_
#define CU_COMPLEX_H_
#pragma GCC system_header
#include <math.h>

#include "vector_types.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

// The same functions for both types; names end in f for floats.
#define FABRICBENCH_COMPLEX(type, real, f, Real, Imag, make, Conj, Add, Sub, Mul, Div, Abs)                \
  FABRICBENCH_BOTH real Real(type a) { return a.x; }                                                       \
  FABRICBENCH_BOTH real Imag(type a) { return a.y; }                                                       \
  FABRICBENCH_BOTH type make(real x, real y) {                                                             \
    type made;                                                                                             \
    made.x = x;                                                                                            \
    made.y = y;                                                                                            \
    return made;                                                                                           \
  }                                                                                                        \
  FABRICBENCH_BOTH type Conj(type a) { return make(a.x, -a.y); }                                           \
  FABRICBENCH_BOTH type Add(type a, type b) { return make(a.x + b.x, a.y + b.y); }                         \
  FABRICBENCH_BOTH type Sub(type a, type b) { return make(a.x - b.x, a.y - b.y); }                         \
  FABRICBENCH_BOTH type Mul(type a, type b) { return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
  FABRICBENCH_BOTH type Div(type a, type b) {                                                              \
    const real s = fabs##f(b.x) + fabs##f(b.y), scale = 1 / s;                                             \
    const real ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;                     \
    const real inverse = 1 / (bx * bx + by * by);                                                          \
    return make((ax * bx + ay * by) * inverse, (ay * bx - ax * by) * inverse);                             \
  }                                                                                                        \
  FABRICBENCH_BOTH real Abs(type a) {                                                                      \
    const real x = fabs##f(a.x), y = fabs##f(a.y), most = x > y ? x : y, least = x > y ? y : x;            \
    const real ratio = least / most;                                                                       \
    if (most == 0 || most > (real)3.402823466e38f || least > (real)3.402823466e38f) return x + y;          \
    return most * sqrt##f(1 + ratio * ratio);                                                              \
  }
FABRICBENCH_COMPLEX(cuFloatComplex, float, f, cuCrealf, cuCimagf, make_cuFloatComplex, cuConjf, cuCaddf, cuCsubf,
                    cuCmulf, cuCdivf, cuCabsf)
FABRICBENCH_COMPLEX(cuDoubleComplex, double, , cuCreal, cuCimag, make_cuDoubleComplex, cuConj, cuCadd, cuCsub, cuCmul,
                    cuCdiv, cuCabs)
#undef FABRICBENCH_COMPLEX

FABRICBENCH_BOTH cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
FABRICBENCH_BOTH cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex c) {
  return make_cuDoubleComplex((double)c.x, (double)c.y);
}
FABRICBENCH_BOTH cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex c) {
  return make_cuFloatComplex((float)c.x, (float)c.y);
}
FABRICBENCH_BOTH cuComplex cuCfmaf(cuComplex x, cuComplex y, cuComplex d) { return cuCaddf(cuCmulf(x, y), d); }
FABRICBENCH_BOTH cuDoubleComplex cuCfma(cuDoubleComplex x, cuDoubleComplex y, cuDoubleComplex d) {
  return cuCadd(cuCmul(x, y), d);
}
#endif
