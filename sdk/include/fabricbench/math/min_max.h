// min and max at global scope, on both sides; mixed signedness compares as unsigned, mixed floats as double.
#pragma once
#include "fabricbench/math/overloads.h"

#define MIN_MAX(result, a, b)                                                                               \
  FABRICBENCH_BOTH result min(a x, b y) { return static_cast<result>(y) < static_cast<result>(x) ? y : x; } \
  FABRICBENCH_BOTH result max(a x, b y) { return static_cast<result>(x) < static_cast<result>(y) ? y : x; }
#define MIN_MAX_INTEGER(type)                          \
  MIN_MAX(type, type, type)                            \
  MIN_MAX(unsigned type, unsigned type, unsigned type) \
  MIN_MAX(unsigned type, type, unsigned type)          \
  MIN_MAX(unsigned type, unsigned type, type)
MIN_MAX_INTEGER(int)
MIN_MAX_INTEGER(long)
MIN_MAX_INTEGER(long long)
#undef MIN_MAX_INTEGER
#undef MIN_MAX

// A NaN loses against a number, as in fmin and fmax.
FABRICBENCH_BOTH float min(float x, float y) { return fminf(x, y); }
FABRICBENCH_BOTH float max(float x, float y) { return fmaxf(x, y); }
#define MIN_MAX(a, b)                                                          \
  FABRICBENCH_BOTH double min(a x, b y) { return fmin(double(x), double(y)); } \
  FABRICBENCH_BOTH double max(a x, b y) { return fmax(double(x), double(y)); }
MIN_MAX(double, double)
MIN_MAX(float, double)
MIN_MAX(double, float)
#undef MIN_MAX

FABRICBENCH_DEVICE unsigned int umin(unsigned int x, unsigned int y) { return min(x, y); }
FABRICBENCH_DEVICE unsigned int umax(unsigned int x, unsigned int y) { return max(x, y); }
FABRICBENCH_DEVICE long long llmin(long long x, long long y) { return min(x, y); }
FABRICBENCH_DEVICE long long llmax(long long x, long long y) { return max(x, y); }
FABRICBENCH_DEVICE unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
FABRICBENCH_DEVICE unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }
