#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/half.h"

// cvt between integers, f32, f64, f16 and bf16.
namespace fb::num {

// f64 → f32, one rounding in any mode; NaN becomes 0x7fffffff (single precision has no payloads).
template <Mods M = kRn>
constexpr float f64_to_f32(double x) {
  if constexpr (M == kRn) return canonical(static_cast<float>(x));
  return std::bit_cast<float>(narrow<kF32, M>(x));
}

// Exact; a NaN keeps sign and payload, left-aligned, and becomes quiet.
template <Mods M = kRn>
constexpr double f32_to_f64(float x) {
  const float in = detail::input<M>(x);
  const uint64_t bits = std::bit_cast<uint32_t>(in);
  const uint64_t nan = (bits & 0x80000000u) << 32 | 0x7ff8000000000000u | (bits & 0x007fffffu) << 29;
  const double r = in != in ? std::bit_cast<double>(nan) : static_cast<double>(in);
  if constexpr (M.sat) return saturate(r);
  return r;
}

// cvt.f32.f32 and cvt.f64.f64 without integer rounding: flush and saturate. A NaN becomes canonical (f32), quiet (f64).
template <Mods M = kRn, std::floating_point T>
constexpr T f_to_same(T x) {
  const T in = detail::input<M>(x);
  return detail::finish<M>(in, in);
}

// To an integral value of the same type: rn, rz, rm, rp stand for rni, rzi, rmi, rpi. Keeps the sign of zero.
template <Mods M = kRn, std::floating_point T>
inline T round_to_integral(T x) {
  static_assert(M.rounding != Rounding::rna);
  const T in = detail::input<M>(x);
  T r = in;
  if constexpr (M.rounding == Rounding::rn) r = std::rint(in);
  if constexpr (M.rounding == Rounding::rz) r = std::trunc(in);
  if constexpr (M.rounding == Rounding::rm) r = std::floor(in);
  if constexpr (M.rounding == Rounding::rp) r = std::ceil(in);
  return detail::finish<M>(r, in);
}

// cvt.{rni,rzi,rmi,rpi}: clamps to the range of Int (PTX: .sat is implied). NaN, by PTX ISA: "zero if source is not
// .f64 and destination is not .s64, .u64; otherwise 1 << (BitWidth(dst) - 1)".
template <std::integral Int, Mods M = kRz, std::floating_point T>
inline Int float_to_int(T x) {
  using Limits = std::numeric_limits<Int>;
  constexpr T kLow = static_cast<T>(Limits::min());
  constexpr T kHigh = power_of_two<T>(Limits::digits);  // the first value that is too large
  constexpr bool kNanIsZero = sizeof(T) == 4 && sizeof(Int) < 8;
  constexpr Int kNan = kNanIsZero ? Int{0} : static_cast<Int>(uint64_t{1} << (sizeof(Int) * 8 - 1));
  // 8 and 16 bits go through 32, the narrowest width hosts convert to.
  using Step = std::conditional_t<(sizeof(Int) < 4), int32_t, Int>;

  const T rounded = round_to_integral<Mods{.rounding = M.rounding, .ftz = M.ftz}>(x);
  const bool in_range = rounded >= kLow && rounded < kHigh;
  Int r = static_cast<Int>(static_cast<Step>(in_range ? rounded : T{0}));
  r = rounded >= kHigh ? Limits::max() : r;
  r = rounded < kLow ? Limits::min() : r;
  return rounded != rounded ? kNan : r;
}

namespace detail {

// An integer as a double whose last bit is sticky if it does not fit 53 bits (rounded to odd), so that a later rounding
// to f32 or narrower is the only one that counts.
template <std::integral Int>
constexpr double to_odd_double(Int v) {
  if constexpr (sizeof(Int) < 8) {
    return static_cast<double>(v);
  } else {
    const bool negative = v < 0;
    const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    const uint64_t sticky = (magnitude & ~uint64_t{0x7ff}) | (static_cast<uint64_t>((magnitude & 0x7ff) != 0) << 11);
    const double r = static_cast<double>(magnitude >> 53 != 0 ? sticky : magnitude);
    return negative ? -r : r;
  }
}

// 64-bit integers to f64 in a directed mode: round to nearest, then step by what that lost.
template <Rounding R, std::integral Int>
constexpr double int_to_f64_directed(Int v) {
  const bool negative = v < 0;
  const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  const double nearest = static_cast<double>(magnitude);
  const auto back = static_cast<unsigned __int128>(nearest);
  uint64_t bits = std::bit_cast<uint64_t>(nearest) - static_cast<uint64_t>(back > magnitude);
  bits += static_cast<uint64_t>(back != magnitude) & rounds_away<R>(static_cast<uint64_t>(negative));
  const double r = std::bit_cast<double>(bits);
  return negative ? -r : r;
}

}  // namespace detail

// cvt.{rn,rz,rm,rp}.{f32,f64}.{s,u}{8..64}; Mods::sat clamps to [0, 1].
template <std::floating_point T, Mods M = kRn, std::integral Int>
constexpr T int_to_float(Int v) {
  T r;
  if constexpr (M.rounding == Rounding::rn || sizeof(Int) * 8 < std::numeric_limits<T>::digits) {
    r = static_cast<T>(v);
  } else if constexpr (sizeof(T) == 4) {
    r = std::bit_cast<float>(narrow<kF32, Mods{M.rounding}>(detail::to_odd_double(v)));
  } else if constexpr (sizeof(Int) == 8) {
    r = detail::int_to_f64_directed<M.rounding>(v);
  } else {
    r = static_cast<T>(v);
  }
  if constexpr (M.sat) return saturate(r);
  return r;
}

template <Mods M = kRn, std::integral Int>
constexpr uint16_t int_to_f16(Int v) {
  return f64_to_f16<M>(detail::to_odd_double(v));
}

template <Mods M = kRn, std::integral Int>
constexpr uint16_t int_to_bf16(Int v) {
  return f64_to_bf16<M>(detail::to_odd_double(v));
}

// cvt.sat between integers; without .sat it is static_cast.
template <std::integral To, std::integral From>
constexpr To saturate_cast(From v) {
  using Limits = std::numeric_limits<To>;
  const bool low = std::cmp_less(v, Limits::min());
  const bool high = std::cmp_greater(v, Limits::max());
  const To r = high ? Limits::max() : static_cast<To>(v);
  return low ? Limits::min() : r;
}

}  // namespace fb::num
