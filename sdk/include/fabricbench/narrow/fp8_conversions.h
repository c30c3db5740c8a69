// Conversions between 8-bit floats and wider ones, by storage type. PTX converts two at a time and always saturates;
// what it cannot do, and all of it on the host, goes through encode.h.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "fabricbench/narrow/encode.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace fabricbench {

// E4M3 has one NaN and no infinity; E5M2 has both. Above the largest number: that number, or NaN or infinity.
FABRICBENCH_CONSTEXPR unsigned char encode_fp8(double value, __nv_saturation_t saturation,
                                               __nv_fp8_interpretation_t kind) {
  const bool e4m3 = kind == __NV_E4M3;
  const unsigned int largest = e4m3 ? 0x7e : 0x7b;
  if (value != value) return 0x7f;
  const unsigned int sign = __builtin_bit_cast(unsigned long long, value) >> 63 ? 0x80 : 0;
  const unsigned int code =
      __builtin_isinf(value) ? ~0u : magnitude_code(value, e4m3 ? kE4m3 : kE5m2, Rounding::nearest_even);
  if (code <= largest) return static_cast<unsigned char>(sign | code);
  return static_cast<unsigned char>(sign | (saturation == __NV_SATFINITE ? largest : largest + 1));
}

FABRICBENCH_CONSTEXPR float decode_fp8(unsigned char code, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2) return decode(code, kE5m2);
  return (code & 0x7f) == 0x7f ? __builtin_nanf("") : decode_finite(code, kE4m3);
}

constexpr unsigned short join_fp8(unsigned char low, unsigned char high) {
  return static_cast<unsigned short>(low | high << 8);
}

#if defined(__CUDA__)
#define NARROW_PAIR(name, ptx, parameters, ...)                           \
  FABRICBENCH_DEVICE unsigned short name parameters {                     \
    unsigned short bits;                                                  \
    if (kind == __NV_E4M3) {                                              \
      asm("cvt.rn.satfinite.e4m3x2." ptx ";" : "=h"(bits) : __VA_ARGS__); \
    } else {                                                              \
      asm("cvt.rn.satfinite.e5m2x2." ptx ";" : "=h"(bits) : __VA_ARGS__); \
    }                                                                     \
    return bits;                                                          \
  }
NARROW_PAIR(narrow_floats, "f32 %0, %1, %2", (float low, float high, __nv_fp8_interpretation_t kind), "f"(high),
            "f"(low))
NARROW_PAIR(narrow_halves, "f16x2 %0, %1", (unsigned int halves, __nv_fp8_interpretation_t kind), "r"(halves))
#undef NARROW_PAIR

FABRICBENCH_DEVICE unsigned int widen_to_halves(unsigned short pair, __nv_fp8_interpretation_t kind) {
  unsigned int halves;
  if (kind == __NV_E4M3) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  } else {
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  }
  return halves;
}
#endif

}  // namespace fabricbench

// Two at a time.
FABRICBENCH_BOTH __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 v, __nv_saturation_t saturation,
                                                                __nv_fp8_interpretation_t kind) {
  return fabricbench::join_fp8(fabricbench::encode_fp8(v.x, saturation, kind),
                               fabricbench::encode_fp8(v.y, saturation, kind));
}
FABRICBENCH_BOTH __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturation,
                                                               __nv_fp8_interpretation_t kind) {
  FABRICBENCH_SIDE(if (saturation == __NV_SATFINITE) return fabricbench::narrow_floats(v.x, v.y, kind), );
  return __nv_cvt_double2_to_fp8x2({v.x, v.y}, saturation, kind);
}
FABRICBENCH_BOTH __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw v, __nv_saturation_t saturation,
                                                                 __nv_fp8_interpretation_t kind) {
  FABRICBENCH_SIDE(
      if (saturation == __NV_SATFINITE) {
        return fabricbench::narrow_halves(__builtin_bit_cast(unsigned int, v), kind);
      }, );
  return __nv_cvt_float2_to_fp8x2(__half22float2(v), saturation, kind);
}
FABRICBENCH_BOTH __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw v, __nv_saturation_t saturation,
                                                                     __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float2_to_fp8x2(__bfloat1622float2(v), saturation, kind);
}
FABRICBENCH_BOTH __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t v, __nv_fp8_interpretation_t kind) {
  FABRICBENCH_SIDE(return __builtin_bit_cast(__half2_raw, fabricbench::widen_to_halves(v, kind)),
                          return __floats2half2_rn(fabricbench::decode_fp8(static_cast<unsigned char>(v), kind),
                                                   fabricbench::decode_fp8(static_cast<unsigned char>(v >> 8), kind)));
}

// One at a time: the lower of two.
FABRICBENCH_BOTH __nv_fp8_storage_t __nv_cvt_double_to_fp8(double v, __nv_saturation_t saturation,
                                                           __nv_fp8_interpretation_t kind) {
  return fabricbench::encode_fp8(v, saturation, kind);
}
FABRICBENCH_BOTH __nv_fp8_storage_t __nv_cvt_float_to_fp8(float v, __nv_saturation_t saturation,
                                                          __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8_storage_t>(__nv_cvt_float2_to_fp8x2({v, 0.0f}, saturation, kind));
}
FABRICBENCH_BOTH __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw v, __nv_saturation_t saturation,
                                                            __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8_storage_t>(__nv_cvt_halfraw2_to_fp8x2({v.x, 0}, saturation, kind));
}
FABRICBENCH_BOTH __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw v, __nv_saturation_t saturation,
                                                                __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__nv_bfloat16(v), saturation, kind);
}
FABRICBENCH_BOTH __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t v, __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8x2_to_halfraw2(v, kind).x};
}
