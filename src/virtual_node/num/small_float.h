#pragma once

#include <cstdint>

#include "virtual_node/num/half.h"

// tf32 and the 8, 6 and 4-bit formats of cvt, as raw codes in the low bits.
//
// PTX ISA, cvt: conversions to the 8, 6 and 4-bit formats always carry .satfinite ("if the absolute value of the input
// is greater than MAX_NORM the result is sign-preserved MAX_NORM"), so that is the default here. NaN: 0x7f in e4m3 and
// e5m2; +MAX_NORM in e2m1, e2m3 and e3m2, which have no NaN; 0xff in ue8m0. Without satfinite (the __NV_NOSAT mode of
// cuda_fp8.h) too large becomes infinity in e5m2 and NaN in e4m3. Widening gives canonical NaNs.
// Pairs: the value of operand a goes to the upper part, that of b to the lower, as in half.h.
namespace fb::num {

inline constexpr Mods kSatfinite{.satfinite = true};
inline constexpr Mods kSatfiniteRelu{.relu = true, .satfinite = true};

// tf32 lives in an f32 register whose 13 low bits are zero; NaN is 0x7fffffff. Rounding rna is the usual one.
template <Mods M = Mods{Rounding::rna}>
constexpr uint32_t f32_to_tf32(float x) {
  const uint32_t bits = narrow<kTf32, M>(x) << 13;
  return x != x ? kF32.nan : bits;
}

// What a tensor core reads from an f32 register used as tf32: the low 13 bits are ignored.
constexpr float tf32_to_f32(uint32_t x) {
  const uint32_t bits = x & 0xffffe000u;
  return std::bit_cast<float>((x & 0x7fffffffu) > 0x7f800000u ? kF32.nan : bits);
}

template <Mods M = kSatfinite>
constexpr uint8_t f32_to_e4m3(float x) {
  return static_cast<uint8_t>(narrow<kE4m3, M>(x));
}

template <Mods M = kSatfinite>
constexpr uint8_t f32_to_e5m2(float x) {
  return static_cast<uint8_t>(narrow<kE5m2, M>(x));
}

constexpr float e4m3_to_f32(uint8_t x) { return widen<kE4m3>(x); }
constexpr float e5m2_to_f32(uint8_t x) { return widen<kE5m2>(x); }
constexpr float e3m2_to_f32(uint8_t x) { return widen<kE3m2>(x); }
constexpr float e2m3_to_f32(uint8_t x) { return widen<kE2m3>(x); }
constexpr float e2m1_to_f32(uint8_t x) { return widen<kE2m1>(x); }

// f16 holds every value of these formats, so the detour through f32 is exact in both directions.
template <Mods M = kSatfinite>
constexpr uint8_t f16_to_e4m3(uint16_t x) {
  return f32_to_e4m3<M>(f16_to_f32(x));
}

template <Mods M = kSatfinite>
constexpr uint8_t f16_to_e5m2(uint16_t x) {
  return f32_to_e5m2<M>(f16_to_f32(x));
}

template <Mods M = kRn>
constexpr uint16_t e4m3_to_f16(uint8_t x) {
  return f32_to_f16<M>(e4m3_to_f32(x));
}

template <Mods M = kRn>
constexpr uint16_t e5m2_to_f16(uint8_t x) {
  return f32_to_f16<M>(e5m2_to_f32(x));
}

// ue8m0: 2^(code - 127), no sign, no zero, NaN 0xff. cvt has rz and rp only. The sign of the input is ignored ("a
// positive MAX_NORM in ue8m0x2, for which the destination sign is not supported"); zero becomes the smallest value.
template <Mods M = Mods{.rounding = Rounding::rz, .satfinite = true}>
constexpr uint8_t f32_to_ue8m0(float x) {
  static_assert(M.rounding == Rounding::rz || M.rounding == Rounding::rp);
  const uint32_t magnitude = std::bit_cast<uint32_t>(x) & 0x7fffffffu;
  const uint32_t exponent = magnitude >> 23;
  // Below 2^-126 the value of the code 0 is 2^-127, which in f32 is the subnormal 0x00400000.
  const uint32_t exact = magnitude < 0x00800000u ? 0x00400000u : exponent << 23;
  uint32_t code = exponent;
  if constexpr (M.rounding == Rounding::rp) code += static_cast<uint32_t>(magnitude > exact);
  if constexpr (M.satfinite) code = code > 0xfe ? 0xfe : code;
  code = code > 0xff ? 0xff : code;
  return static_cast<uint8_t>(magnitude > 0x7f800000u ? 0xff : code);
}

constexpr float ue8m0_to_f32(uint8_t x) {
  const uint32_t bits = x == 0 ? 0x00400000u : static_cast<uint32_t>(x) << 23;
  return std::bit_cast<float>(x == 0xff ? kF32.nan : bits);
}

constexpr uint16_t ue8m0_to_bf16(uint8_t x) { return f32_to_bf16(ue8m0_to_f32(x)); }

template <Mods M = Mods{.rounding = Rounding::rz, .satfinite = true}>
constexpr uint8_t bf16_to_ue8m0(uint16_t x) {
  return f32_to_ue8m0<M>(bf16_to_f32(x));
}

}  // namespace fb::num
