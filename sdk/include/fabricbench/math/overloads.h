// C++'s overloads of C's mathematical functions in device code, then <cmath> itself.
//
// Order matters. libstdc++'s overloads are constexpr, which clang takes for host and device, and their built-ins have
// no PTX. clang leaves such a function to the host if a system header declared the same one for the device before: so
// ours come first, and <cmath> after. A program's own #include <cmath> then finds it included, wherever it stands.
#pragma once
#pragma GCC system_header
#include "fabricbench/math/instructions.h"

// glibc's names, which libcu++ calls.
extern "C" {
FABRICBENCH_DEVICE int __isnan(double x) { return __builtin_isnan(x); }
FABRICBENCH_DEVICE int __isnanf(float x) { return __builtin_isnan(x); }
FABRICBENCH_DEVICE int __isnanl(long double x) { return __builtin_isnan(static_cast<double>(x)); }
FABRICBENCH_DEVICE int __isinf(double x) { return __builtin_isinf_sign(x); }
FABRICBENCH_DEVICE int __isinff(float x) { return __builtin_isinf_sign(x); }
FABRICBENCH_DEVICE int __isinfl(long double x) { return __builtin_isinf_sign(static_cast<double>(x)); }
FABRICBENCH_DEVICE int __finite(double x) { return __builtin_isfinite(x); }
FABRICBENCH_DEVICE int __finitef(float x) { return __builtin_isfinite(x); }
FABRICBENCH_DEVICE int __finitel(long double x) { return __builtin_isfinite(static_cast<double>(x)); }
FABRICBENCH_DEVICE int __signbit(double x) { return __builtin_signbit(x); }
FABRICBENCH_DEVICE int __signbitf(float x) { return __builtin_signbitf(x); }
FABRICBENCH_DEVICE int __signbitl(long double x) { return __builtin_signbit(static_cast<double>(x)); }
}

namespace std {

// libstdc++ answers an integral argument by the double function, in a template of its own; these are better matches.
#define INTEGRAL(result, name)                                                               \
  FABRICBENCH_DEVICE result name(int x) { return ::name(static_cast<double>(x)); }           \
  FABRICBENCH_DEVICE result name(unsigned int x) { return ::name(static_cast<double>(x)); }  \
  FABRICBENCH_DEVICE result name(long x) { return ::name(static_cast<double>(x)); }          \
  FABRICBENCH_DEVICE result name(unsigned long x) { return ::name(static_cast<double>(x)); } \
  FABRICBENCH_DEVICE result name(long long x) { return ::name(static_cast<double>(x)); }     \
  FABRICBENCH_DEVICE result name(unsigned long long x) { return ::name(static_cast<double>(x)); }
#define OVERLOAD1(name)                                           \
  FABRICBENCH_DEVICE float name(float x) { return ::name##f(x); } \
  INTEGRAL(double, name)
#define OVERLOAD_AS(result, name)                                  \
  FABRICBENCH_DEVICE result name(float x) { return ::name##f(x); } \
  INTEGRAL(result, name)
#define OVERLOAD2(name) \
  FABRICBENCH_DEVICE float name(float x, float y) { return ::name##f(x, y); }
#include "fabricbench/math/overloads.def"
#undef INTEGRAL

FABRICBENCH_DEVICE float ldexp(float x, int n) { return ::ldexpf(x, n); }
FABRICBENCH_DEVICE float scalbn(float x, int n) { return ::scalbnf(x, n); }
FABRICBENCH_DEVICE float frexp(float x, int* exponent) { return ::frexpf(x, exponent); }
FABRICBENCH_DEVICE float modf(float x, float* whole) { return ::modff(x, whole); }
FABRICBENCH_DEVICE long abs(long x) { return ::labs(x); }
FABRICBENCH_DEVICE long long abs(long long x) { return ::llabs(x); }

}  // namespace std

#include <math.h>
#include <stdlib.h>
#include <cmath>
#include <cstdlib>

// CUDA's own functions beyond C's: float overloads here, and host versions of those that programs share between sides.
#define OVERLOAD1(name) \
  FABRICBENCH_DEVICE float name(float x) { return ::name##f(x); }
OVERLOAD1(exp10)
OVERLOAD1(rsqrt)
OVERLOAD1(rcbrt)
OVERLOAD1(sinpi)
OVERLOAD1(cospi)
OVERLOAD1(erfinv)
OVERLOAD1(erfcinv)
OVERLOAD1(erfcx)
OVERLOAD1(normcdf)
OVERLOAD1(normcdfinv)
#undef OVERLOAD1
inline __host__ float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline __host__ double rsqrt(double x) { return 1.0 / std::sqrt(x); }
