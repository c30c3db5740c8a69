#pragma once

#include <cstdint>

#include "virtual_node/num/float_format.h"

// f16 and bf16 as raw 16-bit codes.
//
// NaN rules. Narrowing gives the canonical NaN 0x7fff (PTX ISA: canonical NaN of .f16 and .bf16), sign and payload
// lost. f16 → f32 gives the canonical 0x7fffffff, as the hardware does. bf16 → f32 is a move of bits and keeps the
// payload: compilers and cuda_bf16.h do it with a shift, so anything else would depend on how the guest was compiled.
// .satfinite (cvt): NaN stays NaN, out of range becomes ±MAX_NORM. .relu: negative → +0, NaN → 0x7fff. .sat: NaN → +0.
namespace fb::num {

template <Mods M = kRn>
constexpr uint16_t f32_to_f16(float x) {
  return static_cast<uint16_t>(narrow<kF16, M>(x));
}

template <Mods M = kRn>
constexpr uint16_t f32_to_bf16(float x) {
  return static_cast<uint16_t>(narrow<kBf16, M>(x));
}

// One rounding, not two: through f32 a double just above a tie would lose what breaks the tie.
template <Mods M = kRn>
constexpr uint16_t f64_to_f16(double x) {
  return static_cast<uint16_t>(narrow<kF16, M>(x));
}

template <Mods M = kRn>
constexpr uint16_t f64_to_bf16(double x) {
  return static_cast<uint16_t>(narrow<kBf16, M>(x));
}

constexpr float f16_to_f32(uint16_t x) { return widen<kF16>(x); }
constexpr float bf16_to_f32(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

constexpr double f16_to_f64(uint16_t x) { return static_cast<double>(f16_to_f32(x)); }
constexpr double bf16_to_f64(uint16_t x) { return static_cast<double>(bf16_to_f32(x)); }

// Pairs: in `cvt.f16x2.f32 d, a, b` the value of a goes to the upper half, that of b to the lower.
constexpr uint32_t pack_halves(uint16_t upper, uint16_t lower) { return static_cast<uint32_t>(upper) << 16 | lower; }
constexpr uint16_t upper_half(uint32_t x) { return static_cast<uint16_t>(x >> 16); }
constexpr uint16_t lower_half(uint32_t x) { return static_cast<uint16_t>(x); }

// The x2 form of a 16-bit operation: pairwise<add_f16<kRn>>(a, b), pairwise<neg_f16>(a).
template <auto Operation, class... Pairs>
constexpr uint32_t pairwise(Pairs... x) {
  return pack_halves(Operation(upper_half(x)...), Operation(lower_half(x)...));
}

}  // namespace fb::num
