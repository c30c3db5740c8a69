#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/half.h"

// min, max, abs, neg, copysign and testp for f32, f64, f16 and bf16, all on the bits.
//
// PTX ISA, min/max: -0 < +0. One NaN operand: the other operand is the result; both: the canonical NaN. With .NaN: any
// NaN operand gives the canonical NaN. .xorsign.abs: compare magnitudes, sign is the xor of the operands' signs (not on
// a NaN result). abs, neg and copysign touch only the sign bit, of NaNs too: compilers use them for exactly that.
namespace fb::num {

struct MinMaxMods {
  bool ftz = false;
  bool nan = false;
  bool xorsign_abs = false;
};

namespace detail {

template <class Bits>
struct FloatBits {
  Bits infinity;
  Bits nan;
  Bits min_normal;
};

inline constexpr FloatBits<uint64_t> kBitsF64{0x7ff0000000000000u, 0xfff8000000000000u, 0x0010000000000000u};
inline constexpr FloatBits<uint32_t> kBitsF32{0x7f800000u, 0x7fffffffu, 0x00800000u};
inline constexpr FloatBits<uint16_t> kBitsF16{0x7c00, 0x7fff, 0x0400};
inline constexpr FloatBits<uint16_t> kBitsBf16{0x7f80, 0x7fff, 0x0080};

template <class Bits>
inline constexpr Bits kSignBit = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));

template <class Bits>
constexpr Bits magnitude(Bits x) {
  return static_cast<Bits>(x & static_cast<Bits>(~kSignBit<Bits>));
}

// Signed integers in the order of the floats they stand for, -0 below +0.
template <class Bits>
constexpr auto order_key(Bits x) {
  using Signed = std::make_signed_t<Bits>;
  const Signed s = static_cast<Signed>(x);
  return static_cast<Signed>(s ^
                             static_cast<Signed>((s >> (sizeof(Bits) * 8 - 1)) & static_cast<Signed>(~kSignBit<Bits>)));
}

template <auto F, MinMaxMods M, bool is_max, class Bits>
constexpr Bits minmax_bits(Bits a, Bits b) {
  if constexpr (M.ftz) {
    a = magnitude(a) < F.min_normal ? static_cast<Bits>(a & kSignBit<Bits>) : a;
    b = magnitude(b) < F.min_normal ? static_cast<Bits>(b & kSignBit<Bits>) : b;
  }
  const Bits sign = static_cast<Bits>((a ^ b) & kSignBit<Bits>);
  if constexpr (M.xorsign_abs) {
    a = magnitude(a);
    b = magnitude(b);
  }
  const bool a_nan = magnitude(a) > F.infinity;
  const bool b_nan = magnitude(b) > F.infinity;
  const bool a_first = is_max ? order_key(a) > order_key(b) : order_key(a) < order_key(b);
  Bits r = a_first ? a : b;
  if constexpr (M.nan) {
    r = a_nan || b_nan ? F.nan : r;
  } else {
    r = a_nan ? b : r;
    r = b_nan ? a : r;
    r = a_nan && b_nan ? F.nan : r;
  }
  if constexpr (M.xorsign_abs) r = magnitude(r) > F.infinity ? r : static_cast<Bits>(r | sign);
  return r;
}

template <MinMaxMods M, bool is_max>
constexpr float minmax(float a, float b) {
  return std::bit_cast<float>(minmax_bits<kBitsF32, M, is_max>(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)));
}

template <MinMaxMods M, bool is_max>
constexpr double minmax(double a, double b) {
  return std::bit_cast<double>(
      minmax_bits<kBitsF64, M, is_max>(std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(b)));
}

}  // namespace detail

template <MinMaxMods M = MinMaxMods{}, std::floating_point T>
constexpr T min(T a, T b) {
  return detail::minmax<M, false>(a, b);
}

template <MinMaxMods M = MinMaxMods{}, std::floating_point T>
constexpr T max(T a, T b) {
  return detail::minmax<M, true>(a, b);
}

template <MinMaxMods M = MinMaxMods{}>
constexpr uint16_t min_f16(uint16_t a, uint16_t b) {
  return detail::minmax_bits<detail::kBitsF16, M, false>(a, b);
}

template <MinMaxMods M = MinMaxMods{}>
constexpr uint16_t max_f16(uint16_t a, uint16_t b) {
  return detail::minmax_bits<detail::kBitsF16, M, true>(a, b);
}

template <MinMaxMods M = MinMaxMods{}>
constexpr uint16_t min_bf16(uint16_t a, uint16_t b) {
  return detail::minmax_bits<detail::kBitsBf16, M, false>(a, b);
}

template <MinMaxMods M = MinMaxMods{}>
constexpr uint16_t max_bf16(uint16_t a, uint16_t b) {
  return detail::minmax_bits<detail::kBitsBf16, M, true>(a, b);
}

template <Mods M = kRn, std::floating_point T>
constexpr T abs(T x) {
  using Bits = BitsOf<T>;
  return std::bit_cast<T>(detail::magnitude(std::bit_cast<Bits>(detail::input<M>(x))));
}

template <Mods M = kRn, std::floating_point T>
constexpr T neg(T x) {
  using Bits = BitsOf<T>;
  return std::bit_cast<T>(std::bit_cast<Bits>(detail::input<M>(x)) ^ detail::kSignBit<Bits>);
}

// copysign.type d, a, b: the sign of a on the value of b (operand order of PTX, not of C).
template <std::floating_point T>
constexpr T copysign(T a, T b) {
  using Bits = BitsOf<T>;
  const Bits sign = std::bit_cast<Bits>(a) & detail::kSignBit<Bits>;
  return std::bit_cast<T>(detail::magnitude(std::bit_cast<Bits>(b)) | sign);
}

constexpr uint16_t abs_f16(uint16_t x) { return x & 0x7fff; }
constexpr uint16_t neg_f16(uint16_t x) { return x ^ 0x8000; }
constexpr uint16_t abs_bf16(uint16_t x) { return x & 0x7fff; }
constexpr uint16_t neg_bf16(uint16_t x) { return x ^ 0x8000; }

template <std::floating_point T>
constexpr bool is_nan(T x) {
  return x != x;
}

// testp.
template <std::floating_point T>
constexpr bool is_infinite(T x) {
  return abs(x) == std::numeric_limits<T>::infinity();
}
template <std::floating_point T>
constexpr bool is_finite(T x) {
  return abs(x) < std::numeric_limits<T>::infinity();
}
template <std::floating_point T>
constexpr bool is_subnormal(T x) {
  return abs(x) < std::numeric_limits<T>::min() && x != T{0};
}
template <std::floating_point T>
constexpr bool is_normal(T x) {
  return is_finite(x) && abs(x) >= std::numeric_limits<T>::min();
}

}  // namespace fb::num
