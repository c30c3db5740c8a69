// Bit casts, and conversions between integers and floats with the rounding in the name.
#pragma once
#include "fabricbench/language.h"

FABRICBENCH_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
FABRICBENCH_DEVICE unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
FABRICBENCH_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
FABRICBENCH_DEVICE float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
FABRICBENCH_DEVICE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
FABRICBENCH_DEVICE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
FABRICBENCH_DEVICE int __double2hiint(double x) { return __nvvm_d2i_hi(x); }
FABRICBENCH_DEVICE int __double2loint(double x) { return __nvvm_d2i_lo(x); }
FABRICBENCH_DEVICE double __hiloint2double(int high, int low) { return __nvvm_lohi_i2d(low, high); }

// PTX calls "up" rp (to plus infinity) and "down" rm (to minus infinity).
#define CONVERT(name, builtin, from, to)                              \
  FABRICBENCH_DEVICE to name##_rn(from x) { return builtin##_rn(x); } \
  FABRICBENCH_DEVICE to name##_rz(from x) { return builtin##_rz(x); } \
  FABRICBENCH_DEVICE to name##_ru(from x) { return builtin##_rp(x); } \
  FABRICBENCH_DEVICE to name##_rd(from x) { return builtin##_rm(x); }
CONVERT(__float2int, __nvvm_f2i, float, int)
CONVERT(__float2uint, __nvvm_f2ui, float, unsigned int)
CONVERT(__float2ll, __nvvm_f2ll, float, long long)
CONVERT(__float2ull, __nvvm_f2ull, float, unsigned long long)
CONVERT(__double2float, __nvvm_d2f, double, float)
CONVERT(__double2int, __nvvm_d2i, double, int)
CONVERT(__double2uint, __nvvm_d2ui, double, unsigned int)
CONVERT(__double2ll, __nvvm_d2ll, double, long long)
CONVERT(__double2ull, __nvvm_d2ull, double, unsigned long long)
#undef CONVERT

// LLVM 19 takes the built-ins of integers with _rz for C's conversion, which rounds to nearest.
#define FROM_INTEGER(name, builtin, from, ptx_from, letter_from, to, ptx_to, letter_to) \
  FABRICBENCH_DEVICE to name##_rn(from x) { return builtin##_rn(x); }                   \
  FABRICBENCH_DEVICE to name##_ru(from x) { return builtin##_rp(x); }                   \
  FABRICBENCH_DEVICE to name##_rd(from x) { return builtin##_rm(x); }                   \
  FABRICBENCH_DEVICE to name##_rz(from x) {                                             \
    to y;                                                                               \
    asm("cvt.rz." ptx_to "." ptx_from " %0, %1;" : letter_to(y) : letter_from(x));      \
    return y;                                                                           \
  }
FROM_INTEGER(__int2float, __nvvm_i2f, int, "s32", "r", float, "f32", "=f")
FROM_INTEGER(__uint2float, __nvvm_ui2f, unsigned int, "u32", "r", float, "f32", "=f")
FROM_INTEGER(__ll2float, __nvvm_ll2f, long long, "s64", "l", float, "f32", "=f")
FROM_INTEGER(__ull2float, __nvvm_ull2f, unsigned long long, "u64", "l", float, "f32", "=f")
FROM_INTEGER(__ll2double, __nvvm_ll2d, long long, "s64", "l", double, "f64", "=d")
FROM_INTEGER(__ull2double, __nvvm_ull2d, unsigned long long, "u64", "l", double, "f64", "=d")
#undef FROM_INTEGER

// Every 32-bit integer is exact as a double.
FABRICBENCH_DEVICE double __int2double_rn(int x) { return x; }
FABRICBENCH_DEVICE double __uint2double_rn(unsigned int x) { return x; }
