// Mathematical functions that are one or a few PTX instructions. They carry C's names, so that host and device code
// spell them alike; C++'s overloads come from overloads.h.
#pragma once
#pragma GCC system_header
#include "fabricbench/device/conversions.h"
#include "fabricbench/device/externals.h"
#include "fabricbench/device/rounded_arithmetic.h"

extern "C" {

#define BY_BUILTIN1(name)                                                      \
  FABRICBENCH_DEVICE float name##f(float x) { return __builtin_##name##f(x); } \
  FABRICBENCH_DEVICE double name(double x) { return __builtin_##name(x); }
BY_BUILTIN1(fabs)
BY_BUILTIN1(floor)
BY_BUILTIN1(ceil)
BY_BUILTIN1(trunc)
BY_BUILTIN1(round)
BY_BUILTIN1(rint)
BY_BUILTIN1(nearbyint)
#undef BY_BUILTIN1

#define BY_BUILTIN2(name)                                                                  \
  FABRICBENCH_DEVICE float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
  FABRICBENCH_DEVICE double name(double x, double y) { return __builtin_##name(x, y); }
BY_BUILTIN2(fmin)
BY_BUILTIN2(fmax)
BY_BUILTIN2(copysign)
#undef BY_BUILTIN2

// -prec-sqrt=false, and with it -ftz=true; LLVM has no such option.
FABRICBENCH_DEVICE float sqrtf(float x) {
#if defined(__FABRICBENCH_APPROXIMATE_ROOTS__) && defined(__FABRICBENCH_FLUSHED__)
  return __nvvm_sqrt_approx_ftz_f(x);
#elif defined(__FABRICBENCH_APPROXIMATE_ROOTS__)
  return __nvvm_sqrt_approx_f(x);
#else
  return __builtin_elementwise_sqrt(x);
#endif
}
FABRICBENCH_DEVICE double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
FABRICBENCH_DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
FABRICBENCH_DEVICE double rsqrt(double x) { return __nvvm_rcp_rn_d(__nvvm_sqrt_rn_d(x)); }
FABRICBENCH_DEVICE float fmaf(float x, float y, float z) { return __nvvm_fma_rn_f(x, y, z); }
FABRICBENCH_DEVICE double fma(double x, double y, double z) { return __nvvm_fma_rn_d(x, y, z); }
FABRICBENCH_DEVICE float fdividef(float x, float y) { return x / y; }

#define FLOATS(f, type, to_integer)                                                                      \
  FABRICBENCH_DEVICE type fdim##f(type x, type y) { return x > y ? x - y : (x <= y ? type(0) : x + y); } \
  FABRICBENCH_DEVICE long lrint##f(type x) { return to_integer(x); }                                     \
  FABRICBENCH_DEVICE long long llrint##f(type x) { return to_integer(x); }                               \
  FABRICBENCH_DEVICE long lround##f(type x) { return static_cast<long>(round##f(x)); }                   \
  FABRICBENCH_DEVICE long long llround##f(type x) { return static_cast<long long>(round##f(x)); }        \
  FABRICBENCH_DEVICE type modf##f(type x, type* whole) {                                                 \
    *whole = trunc##f(x);                                                                                \
    return copysign##f(__builtin_isinf(x) ? type(0) : x - *whole, x);                                    \
  }                                                                                                      \
  FABRICBENCH_DEVICE void sincos##f(type x, type* sine, type* cosine) {                                  \
    *sine = sin##f(x);                                                                                   \
    *cosine = cos##f(x);                                                                                 \
  }                                                                                                      \
  FABRICBENCH_DEVICE void sincospi##f(type x, type* sine, type* cosine) {                                \
    *sine = sinpi##f(x);                                                                                 \
    *cosine = cospi##f(x);                                                                               \
  }                                                                                                      \
  FABRICBENCH_DEVICE type scalbn##f(type x, int n) { return ldexp##f(x, n); }                            \
  FABRICBENCH_DEVICE type frexp##f(type x, int* exponent) {                                              \
    const bool plain = x == type(0) || __builtin_isinf(x) || __builtin_isnan(x);                         \
    *exponent = plain ? 0 : ilogb##f(x) + 1;                                                             \
    return plain ? x : ldexp##f(x, -*exponent);                                                          \
  }                                                                                                      \
  FABRICBENCH_DEVICE type rhypot##f(type x, type y) { return type(1) / hypot##f(x, y); }
FLOATS(f, float, __float2ll_rn)
FLOATS(, double, __double2ll_rn)
#undef FLOATS

FABRICBENCH_DEVICE float nanf(const char*) { return __builtin_nanf(""); }
FABRICBENCH_DEVICE double nan(const char*) { return __builtin_nan(""); }
FABRICBENCH_DEVICE int abs(int x) { return x < 0 ? -x : x; }
FABRICBENCH_DEVICE long labs(long x) { return x < 0 ? -x : x; }
FABRICBENCH_DEVICE long long llabs(long long x) { return x < 0 ? -x : x; }
}
