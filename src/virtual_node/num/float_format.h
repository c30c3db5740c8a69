#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fb::num {

// PTX rounding: to nearest even, towards zero, towards minus and plus infinity, to nearest with ties away.
enum class Rounding : uint8_t { rn, rz, rm, rp, rna };

// The modifiers of one floating-point instruction, known at compile time so that lane loops carry no branches.
struct Mods {
  Rounding rounding = Rounding::rn;
  bool ftz = false;        // subnormal inputs and results become zero of the same sign
  bool sat = false;        // result clamped to [+0, 1]; NaN and -0 become +0
  bool relu = false;       // a negative result (-0 too) becomes +0; NaN becomes the canonical NaN
  bool satfinite = false;  // too large (infinity too) becomes the largest finite value of the same sign
  friend constexpr bool operator==(const Mods&, const Mods&) = default;
};

inline constexpr Mods kRn{};
inline constexpr Mods kRz{Rounding::rz};
inline constexpr Mods kRm{Rounding::rm};
inline constexpr Mods kRp{Rounding::rp};

// A binary format of sign, exponent, mantissa. `overflow` is the magnitude that a too large value takes when nothing
// saturates it: infinity, NaN in a format that has no infinity, the largest finite value in one that has neither.
// `nan` is the whole code that a NaN takes.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint32_t max_finite;
  uint32_t overflow;
  uint32_t nan;
  bool has_infinity;

  constexpr int sign_position() const { return exponent_bits + mantissa_bits; }
  constexpr uint32_t one() const { return static_cast<uint32_t>(bias) << mantissa_bits; }
  friend constexpr bool operator==(const FloatFormat&, const FloatFormat&) = default;
};

// NaN codes: PTX ISA, "alternate floating-point data formats" and cvt (.satfinite): NaN stays NaN where the format has
// one (canonical: all mantissa bits set, sign clear) and becomes +MAX_NORM in e2m1, e2m3 and e3m2, which have none.
inline constexpr FloatFormat kF32{8, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fffffff, true};
inline constexpr FloatFormat kF16{5, 10, 15, 0x7bff, 0x7c00, 0x7fff, true};
inline constexpr FloatFormat kBf16{8, 7, 127, 0x7f7f, 0x7f80, 0x7fff, true};
inline constexpr FloatFormat kTf32{8, 10, 127, 0x3fbff, 0x3fc00, 0x3ffff, true};  // without its 13 unused low bits
inline constexpr FloatFormat kE5m2{5, 2, 15, 0x7b, 0x7c, 0x7f, true};
inline constexpr FloatFormat kE4m3{4, 3, 7, 0x7e, 0x7f, 0x7f, false};
inline constexpr FloatFormat kE3m2{3, 2, 3, 0x1f, 0x1f, 0x1f, false};
inline constexpr FloatFormat kE2m3{2, 3, 1, 0x1f, 0x1f, 0x1f, false};
inline constexpr FloatFormat kE2m1{2, 1, 1, 0x7, 0x7, 0x7, false};

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// 2^exponent, which must be a normal value of T.
template <class T>
constexpr T power_of_two(int exponent) {
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  return std::bit_cast<T>(static_cast<BitsOf<T>>(exponent + kBias) << kMantissa);
}

// 1 where rounding takes an inexact value of this sign away from zero (directed modes only), else 0.
template <Rounding R, class Bits>
constexpr Bits rounds_away(Bits sign) {
  if constexpr (R == Rounding::rm) return sign;
  if constexpr (R == Rounding::rp) return sign ^ 1;
  return 0;
}

namespace detail {

// Magnitude codes below the smallest normal value: adding 2^k, whose ulp is the format's smallest step, lets the host's
// own rounding to nearest do the work; directed modes then correct by what that lost. No variable shift: it vectorises.
template <FloatFormat F, Rounding R, class Source, class Bits>
constexpr Bits narrow_small(Bits magnitude, Bits sign) {
  static_assert(R != Rounding::rna, "rna only exists for tf32, which has no range of its own");
  constexpr int kSourceMantissa = std::numeric_limits<Source>::digits - 1;
  constexpr Source kMagic = power_of_two<Source>(1 - F.bias - F.mantissa_bits + kSourceMantissa);
  const Source value = std::bit_cast<Source>(magnitude);
  const Source shifted = value + kMagic;
  const Bits nearest = std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(kMagic);
  if constexpr (R == Rounding::rn) return nearest;
  const Source back = shifted - kMagic;
  const Bits towards_zero = nearest - static_cast<Bits>(back > value);
  return towards_zero + (static_cast<Bits>(back != value) & rounds_away<R>(sign));
}

// What rounding at bit `drop` adds to a magnitude before the low bits are cut off.
template <Rounding R, int drop, class Bits>
constexpr Bits rounding_increment(Bits magnitude, Bits sign) {
  constexpr Bits kUlp = Bits{1} << drop;
  if constexpr (R == Rounding::rn) return kUlp / 2 - 1 + ((magnitude >> drop) & 1);
  if constexpr (R == Rounding::rna) return kUlp / 2;
  return (Bits{0} - rounds_away<R>(sign)) & (kUlp - 1);
}

}  // namespace detail

// One correct rounding of a float or double to a narrower format. Overflow follows IEEE 754: to infinity (F.overflow)
// when the mode rounds that way, else to the largest finite value; an infinite input stays infinite unless satfinite.
// `ftz` concerns only f32 (PTX: "only when the source or the destination is .f32").
template <FloatFormat F, Mods M, class Source>
constexpr uint32_t narrow(Source x) {
  using Bits = BitsOf<Source>;
  constexpr Rounding R = M.rounding;
  constexpr int kSourceMantissa = std::numeric_limits<Source>::digits - 1;
  constexpr int kSourceBias = std::numeric_limits<Source>::max_exponent - 1;
  constexpr int kDrop = kSourceMantissa - F.mantissa_bits;
  constexpr Bits kInfinity = static_cast<Bits>(2 * kSourceBias + 1) << kSourceMantissa;
  constexpr Bits kRebias = static_cast<Bits>(kSourceBias - F.bias) << F.mantissa_bits;

  const Bits bits = std::bit_cast<Bits>(x);
  const Bits sign = bits >> (sizeof(Source) * 8 - 1);
  Bits magnitude = bits & (~Bits{0} >> 1);
  if constexpr (M.ftz && sizeof(Source) == 4) magnitude = magnitude < (Bits{1} << kSourceMantissa) ? 0 : magnitude;

  Bits code = ((magnitude + detail::rounding_increment<R, kDrop>(magnitude, sign)) >> kDrop) - kRebias;
  if constexpr (kSourceBias != F.bias) {
    constexpr Bits kMinNormal = static_cast<Bits>(kSourceBias - F.bias + 1) << kSourceMantissa;
    const Bits small = detail::narrow_small<F, R, Source>(magnitude, sign);
    code = magnitude < kMinNormal ? small : code;
  }

  constexpr Bits kMax = F.max_finite;
  constexpr Bits kTooLarge = M.satfinite ? F.max_finite : F.overflow;
  constexpr bool kNearest = R == Rounding::rn || R == Rounding::rna;
  const Bits overflowed = kNearest || rounds_away<R>(sign) != 0 ? kTooLarge : kMax;
  code = code > kMax ? overflowed : code;
  code = magnitude >= kInfinity ? kTooLarge : code;
  if constexpr (M.ftz && F == kF32) code = code < (Bits{1} << F.mantissa_bits) ? 0 : code;

  if constexpr (M.sat) {
    constexpr Bits kOne = F.one();
    code = code < kOne ? code : kOne;
    code = sign != 0 || magnitude > kInfinity ? 0 : code;
  } else {
    const Bits with_sign = M.relu ? (sign != 0 ? 0 : code) : code | (sign << F.sign_position());
    code = magnitude > kInfinity ? Bits{F.nan} : with_sign;
  }
  return static_cast<uint32_t>(code);
}

// Exact. NaN becomes the canonical f32 NaN 0x7fffffff. Bits above the format's width are ignored.
template <FloatFormat F>
constexpr float widen(uint32_t code) {
  constexpr uint32_t kMagnitudeMask = (1u << F.sign_position()) - 1;
  constexpr float kScale = power_of_two<float>(127 - F.bias);
  const uint32_t magnitude = code & kMagnitudeMask;
  const uint32_t sign = ((code >> F.sign_position()) & 1) << 31;
  const float scaled = std::bit_cast<float>(magnitude << (23 - F.mantissa_bits)) * kScale;
  uint32_t bits = std::bit_cast<uint32_t>(scaled) | sign;
  if constexpr (F.max_finite != kMagnitudeMask) {
    const uint32_t special = F.has_infinity && magnitude == F.overflow ? 0x7f800000u | sign : kF32.nan;
    bits = magnitude > F.max_finite ? special : bits;
  }
  return std::bit_cast<float>(bits);
}

}  // namespace fb::num
