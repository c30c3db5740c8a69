// Arithmetic with the rounding in the name: never contracted into a fused multiply-add by the compiler.
#pragma once
#include "fabricbench/language.h"

// `f` names the float flavour of the built-in, `d` the double one.
#define ROUNDED2(name, op, type, letter)                                                        \
  FABRICBENCH_DEVICE type name##_rn(type x, type y) { return __nvvm_##op##_rn_##letter(x, y); } \
  FABRICBENCH_DEVICE type name##_rz(type x, type y) { return __nvvm_##op##_rz_##letter(x, y); } \
  FABRICBENCH_DEVICE type name##_ru(type x, type y) { return __nvvm_##op##_rp_##letter(x, y); } \
  FABRICBENCH_DEVICE type name##_rd(type x, type y) { return __nvvm_##op##_rm_##letter(x, y); }
ROUNDED2(__fadd, add, float, f)
ROUNDED2(__fmul, mul, float, f)
ROUNDED2(__fdiv, div, float, f)
ROUNDED2(__dadd, add, double, d)
ROUNDED2(__dmul, mul, double, d)
ROUNDED2(__ddiv, div, double, d)
#undef ROUNDED2

// x - y is x + (-y), exactly.
#define SUBTRACT(name, add, type)                                               \
  FABRICBENCH_DEVICE type name##_rn(type x, type y) { return add##_rn(x, -y); } \
  FABRICBENCH_DEVICE type name##_rz(type x, type y) { return add##_rz(x, -y); } \
  FABRICBENCH_DEVICE type name##_ru(type x, type y) { return add##_ru(x, -y); } \
  FABRICBENCH_DEVICE type name##_rd(type x, type y) { return add##_rd(x, -y); }
SUBTRACT(__fsub, __fadd, float)
SUBTRACT(__dsub, __dadd, double)
#undef SUBTRACT

#define ROUNDED1(name, op, type, letter)                                             \
  FABRICBENCH_DEVICE type name##_rn(type x) { return __nvvm_##op##_rn_##letter(x); } \
  FABRICBENCH_DEVICE type name##_rz(type x) { return __nvvm_##op##_rz_##letter(x); } \
  FABRICBENCH_DEVICE type name##_ru(type x) { return __nvvm_##op##_rp_##letter(x); } \
  FABRICBENCH_DEVICE type name##_rd(type x) { return __nvvm_##op##_rm_##letter(x); }
ROUNDED1(__frcp, rcp, float, f)
ROUNDED1(__fsqrt, sqrt, float, f)
ROUNDED1(__drcp, rcp, double, d)
ROUNDED1(__dsqrt, sqrt, double, d)
#undef ROUNDED1

#define ROUNDED3(name, type, letter)                                                                    \
  FABRICBENCH_DEVICE type name##_rn(type x, type y, type z) { return __nvvm_fma_rn_##letter(x, y, z); } \
  FABRICBENCH_DEVICE type name##_rz(type x, type y, type z) { return __nvvm_fma_rz_##letter(x, y, z); } \
  FABRICBENCH_DEVICE type name##_ru(type x, type y, type z) { return __nvvm_fma_rp_##letter(x, y, z); } \
  FABRICBENCH_DEVICE type name##_rd(type x, type y, type z) { return __nvvm_fma_rm_##letter(x, y, z); }
ROUNDED3(__fmaf, float, f)
ROUNDED3(__fma, double, d)
#undef ROUNDED3

// The fast, approximate functions: one or two instructions each, the same ones nvcc picks.
FABRICBENCH_DEVICE float __frsqrt_rn(float x) { return __nvvm_rsqrt_approx_f(x); }
FABRICBENCH_DEVICE float __saturatef(float x) { return __nvvm_saturate_f(x); }
FABRICBENCH_DEVICE float __fdividef(float x, float y) { return __nvvm_div_approx_f(x, y); }
FABRICBENCH_DEVICE float __exp2f(float x) { return __nvvm_ex2_approx_f(x); }
FABRICBENCH_DEVICE float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
FABRICBENCH_DEVICE float __expf(float x) { return __exp2f(x * 0x1.715476p+0f); }
FABRICBENCH_DEVICE float __exp10f(float x) { return __exp2f(x * 0x1.a934fp+1f); }
FABRICBENCH_DEVICE float __logf(float x) { return __log2f(x) * 0x1.62e43p-1f; }
FABRICBENCH_DEVICE float __log10f(float x) { return __log2f(x) * 0x1.344136p-2f; }
FABRICBENCH_DEVICE float __powf(float x, float y) { return __exp2f(y * __log2f(x)); }
FABRICBENCH_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
FABRICBENCH_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
FABRICBENCH_DEVICE float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
FABRICBENCH_DEVICE void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
FABRICBENCH_DEVICE float __tanhf(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
FABRICBENCH_DEVICE float __fmaf_ieee_rn(float x, float y, float z) { return __fmaf_rn(x, y, z); }
FABRICBENCH_DEVICE float __fmaf_ieee_rz(float x, float y, float z) { return __fmaf_rz(x, y, z); }
FABRICBENCH_DEVICE float __fmaf_ieee_ru(float x, float y, float z) { return __fmaf_ru(x, y, z); }
FABRICBENCH_DEVICE float __fmaf_ieee_rd(float x, float y, float z) { return __fmaf_rd(x, y, z); }
