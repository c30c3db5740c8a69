#pragma once

#include "virtual_node/num/approx.h"
#include "virtual_node/num/half.h"
#include "virtual_node/num/minmax.h"

// f16 and bf16 arithmetic with one correct rounding (to nearest even: PTX has no other for them). The x2 forms are
// pairwise<add_f16<M>>(a, b). Mods: ftz, sat (f16), relu (fma). NaN results are 0x7fff.
//
// Why computing wider does not round twice:
// - add, sub: f32 has 24 >= 2p + 2 bits (p = 11 or 8), so rounding to f32 first never changes the result; sums below
//   the smallest normal value are exact.
// - mul: products have 22 or 16 bits, exact in f32. Only bf16 products can fall below f32's subnormal step: one at or
//   above bf16's half step 2^-134 needs no bit below 2^-149; all others round to 0 or to the tie that goes to 0.
// - f16 fma in f64: the sum is inexact only if c and the product lie more than 52 bits apart. Either c is the large
//   one: the product is below 2^-19 of its ulp and both roundings return c. Or the product is: the range of f16 allows
//   that only where the result is infinite anyway.
// - bf16 fma in f64: the product may be a tie that a far smaller c breaks, so the sum is rounded to odd; the sticky bit
//   survives for the second rounding.
namespace fb::num {

// a + b in double with round-to-odd: if inexact, the one of the two neighbours whose last bit is set. A later rounding
// to at most 51 bits is then correct in every mode.
constexpr double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const uint64_t bits = std::bit_cast<uint64_t>(sum);
  const bool inexact = error > 0 || error < 0;  // false for NaN, the error of an infinite sum
  const uint64_t step = (error > 0) == (sum > 0) ? uint64_t{1} : ~uint64_t{0};
  return std::bit_cast<double>(inexact && (bits & 1) == 0 ? bits + step : bits);
}

namespace detail {

template <Mods M>
constexpr uint16_t flush_f16(uint16_t x) {
  if constexpr (M.ftz) return (x & 0x7c00) == 0 ? static_cast<uint16_t>(x & 0x8000) : x;
  return x;
}

template <Mods M>
constexpr float load_f16(uint16_t x) {
  return f16_to_f32(flush_f16<M>(x));
}

// ftz of f32 is not meant here: f16 subnormals are flushed in load and store.
template <Mods M>
inline constexpr Mods kWithoutFtz{M.rounding, false, M.sat, M.relu, M.satfinite};

template <Mods M, class Wide>
constexpr uint16_t store_f16(Wide x) {
  static_assert(M.rounding == Rounding::rn);
  return flush_f16<M>(static_cast<uint16_t>(narrow<kF16, kWithoutFtz<M>>(x)));
}

template <Mods M, class Wide>
constexpr uint16_t store_bf16(Wide x) {
  static_assert(M.rounding == Rounding::rn && !M.ftz);
  return static_cast<uint16_t>(narrow<kBf16, M>(x));
}

}  // namespace detail

template <Mods M = kRn>
constexpr uint16_t add_f16(uint16_t a, uint16_t b) {
  return detail::store_f16<M>(detail::load_f16<M>(a) + detail::load_f16<M>(b));
}

template <Mods M = kRn>
constexpr uint16_t sub_f16(uint16_t a, uint16_t b) {
  return detail::store_f16<M>(detail::load_f16<M>(a) - detail::load_f16<M>(b));
}

template <Mods M = kRn>
constexpr uint16_t mul_f16(uint16_t a, uint16_t b) {
  return detail::store_f16<M>(detail::load_f16<M>(a) * detail::load_f16<M>(b));
}

template <Mods M = kRn>
constexpr uint16_t fma_f16(uint16_t a, uint16_t b, uint16_t c) {
  const double product = static_cast<double>(detail::load_f16<M>(a) * detail::load_f16<M>(b));  // exact in f32
  return detail::store_f16<M>(product + static_cast<double>(detail::load_f16<M>(c)));
}

template <Mods M = kRn>
constexpr uint16_t add_bf16(uint16_t a, uint16_t b) {
  return detail::store_bf16<M>(bf16_to_f32(a) + bf16_to_f32(b));
}

template <Mods M = kRn>
constexpr uint16_t sub_bf16(uint16_t a, uint16_t b) {
  return detail::store_bf16<M>(bf16_to_f32(a) - bf16_to_f32(b));
}

template <Mods M = kRn>
constexpr uint16_t mul_bf16(uint16_t a, uint16_t b) {
  return detail::store_bf16<M>(bf16_to_f32(a) * bf16_to_f32(b));
}

template <Mods M = kRn>
constexpr uint16_t fma_bf16(uint16_t a, uint16_t b, uint16_t c) {
  const double product = bf16_to_f64(a) * bf16_to_f64(b);
  return detail::store_bf16<M>(add_to_odd(product, bf16_to_f64(c)));
}

// ex2.approx.f16, ex2.approx.ftz.bf16, tanh.approx: the double value rounded once. PTX allows 2^-9.9 (ex2.f16), 2^-7
// (ex2.bf16), 2^-10.987 (tanh.f16) and 2^-8 (tanh.bf16) relative.
template <Mods M = kRn>
inline uint16_t ex2_f16(uint16_t x) {
  return detail::store_f16<M>(detail::exp2_of(detail::load_f16<M>(x)));
}

inline uint16_t ex2_bf16(uint16_t x) {
  const uint16_t code = detail::store_bf16<kRn>(detail::exp2_of(flush(bf16_to_f32(x))));
  return (code & 0x7f80) == 0 ? static_cast<uint16_t>(code & 0x8000) : code;
}

inline uint16_t tanh_f16(uint16_t x) { return detail::store_f16<kRn>(std::tanh(f16_to_f64(x))); }

inline uint16_t tanh_bf16(uint16_t x) { return detail::store_bf16<kRn>(std::tanh(bf16_to_f64(x))); }

}  // namespace fb::num
