// 8-bit floats, E4M3 and E5M2.
#ifndef __CUDA_FP8_H__
#define __CUDA_FP8_H__
#define __CUDA_FP8_TYPES_EXIST__
#pragma GCC system_header
#include "fabricbench/narrow/fp8_conversions.h"
#include "fabricbench/narrow/paste.h"

#define FB_KIND e4m3
#define FB_INTERPRETATION __NV_E4M3
#include "fabricbench/narrow/fp8_type.inc"

#define FB_KIND e5m2
#define FB_INTERPRETATION __NV_E5M2
#include "fabricbench/narrow/fp8_type.inc"

// E8M0: a power of two, as the scale of a block of numbers; 0xff is NaN.
FABRICBENCH_BOTH __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double v, __nv_saturation_t saturation,
                                                            cudaRoundMode rounding) {
  if (v != v) return 0xff;
  const auto bits = __builtin_bit_cast(unsigned long long, v) & 0x7fffffffffffffffull;
  long long exponent = static_cast<long long>(bits >> 52) - 1023;
  if (rounding == cudaRoundPosInf && (bits & 0xfffffffffffffull)) ++exponent;
  if (exponent > 127) return saturation == __NV_SATFINITE ? 0xfe : 0xff;
  return static_cast<__nv_fp8_storage_t>(exponent < -127 ? 0 : exponent + 127);
}
FABRICBENCH_BOTH __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float v, __nv_saturation_t saturation,
                                                           cudaRoundMode rounding) {
  return __nv_cvt_double_to_e8m0(v, saturation, rounding);
}
FABRICBENCH_BOTH __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t v) {
  __nv_bfloat16_raw raw;
  raw.x = static_cast<unsigned short>(v == 0xff ? 0x7fff : v == 0 ? 0x40 : v << 7);
  return raw;
}
struct __nv_fp8_e8m0 {
  __nv_fp8_storage_t __x;

  __nv_fp8_e8m0() = default;
  FABRICBENCH_BOTH explicit __nv_fp8_e8m0(float v) : __x(__nv_cvt_float_to_e8m0(v, __NV_SATFINITE, cudaRoundPosInf)) {}
  FABRICBENCH_BOTH explicit __nv_fp8_e8m0(double v)
      : __x(__nv_cvt_double_to_e8m0(v, __NV_SATFINITE, cudaRoundPosInf)) {}
  FABRICBENCH_BOTH explicit __nv_fp8_e8m0(__half v) : __nv_fp8_e8m0(static_cast<float>(v)) {}
  FABRICBENCH_BOTH explicit __nv_fp8_e8m0(__nv_bfloat16 v) : __nv_fp8_e8m0(static_cast<float>(v)) {}
  FABRICBENCH_BOTH explicit operator __nv_bfloat16() const { return __nv_cvt_e8m0_to_bf16raw(__x); }
  FABRICBENCH_BOTH explicit operator float() const { return static_cast<__nv_bfloat16>(*this); }
  FABRICBENCH_BOTH explicit operator double() const { return static_cast<float>(*this); }
};
#endif
