#pragma once

#include <cmath>
#include <concepts>

#include "virtual_node/num/directed.h"
#include "virtual_node/num/float_format.h"

// f32 and f64 arithmetic with PTX modifiers: add<kRz>(a, b), fma<Mods{.ftz = true}>(a, b, c).
//
// NaN rules. f32: every NaN result is 0x7fffffff (PTX: "NaN payloads are not supported" for single precision). f64: the
// first NaN operand comes back quiet with its payload (PTX: double precision supports payloads); an invalid operation
// gives 0xfff8000000000000, CUDART_NAN. Hosts differ in both, so the rule is spelled out here and not left to them.
// ftz on a result looks at the rounded value. PTX has ftz and sat for f32 only; for f64 sat works and ftz is ignored.
//
// rn is plain host arithmetic and vectorises (fma: where the target has FMA; else it is a libm call, correct but slow).
namespace fb::num {

inline constexpr float kNanF32 = std::bit_cast<float>(0x7fffffffu);
inline constexpr double kNanF64 = std::bit_cast<double>(0xfff8000000000000u);

constexpr float canonical(float x) { return x != x ? kNanF32 : x; }
constexpr double canonical(double x) { return x != x ? kNanF64 : x; }

// Subnormals become zero of the same sign.
constexpr float flush(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

// To [+0, 1]; NaN and -0 become +0.
template <std::floating_point T>
constexpr T saturate(T x) {
  const T positive = x > T{0} ? x : T{0};
  return positive < T{1} ? positive : T{1};
}

namespace detail {

template <Mods M, std::floating_point T>
constexpr T input(T x) {
  if constexpr (M.ftz && std::same_as<T, float>) return flush(x);
  return x;
}

constexpr double quiet(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(x) | 0x0008000000000000u); }

constexpr double propagate(double invalid) { return invalid; }

template <class... Rest>
constexpr double propagate(double invalid, double first, Rest... rest) {
  const double others = propagate(invalid, rest...);
  return first != first ? quiet(first) : others;
}

// Gives a host result its guest code: NaN rule, then ftz, then sat.
template <Mods M, class... Operands>
constexpr float finish(float result, Operands...) {
  float r = canonical(result);
  if constexpr (M.ftz) r = flush(r);
  if constexpr (M.sat) r = saturate(r);
  return r;
}

template <Mods M, class... Operands>
constexpr double finish(double result, Operands... operands) {
  const double nan = propagate(kNanF64, operands...);
  const double r = result != result ? nan : result;
  if constexpr (M.sat) return saturate(r);
  return r;
}

}  // namespace detail

template <Mods M = kRn, std::floating_point T>
inline T add(T a, T b) {
  a = detail::input<M>(a);
  b = detail::input<M>(b);
  if constexpr (M.rounding == Rounding::rn) return detail::finish<M>(a + b, a, b);
  return detail::finish<M>(add_directed(M.rounding, a, b), a, b);
}

// Not add(a, -b): the payload and sign of a NaN b stay as they are.
template <Mods M = kRn, std::floating_point T>
inline T sub(T a, T b) {
  a = detail::input<M>(a);
  b = detail::input<M>(b);
  if constexpr (M.rounding == Rounding::rn) return detail::finish<M>(a - b, a, b);
  return detail::finish<M>(add_directed(M.rounding, a, -b), a, b);
}

template <Mods M = kRn, std::floating_point T>
inline T mul(T a, T b) {
  a = detail::input<M>(a);
  b = detail::input<M>(b);
  if constexpr (M.rounding == Rounding::rn) return detail::finish<M>(a * b, a, b);
  return detail::finish<M>(mul_directed(M.rounding, a, b), a, b);
}

template <Mods M = kRn, std::floating_point T>
inline T fma(T a, T b, T c) {
  a = detail::input<M>(a);
  b = detail::input<M>(b);
  c = detail::input<M>(c);
  if constexpr (M.rounding == Rounding::rn) return detail::finish<M>(std::fma(a, b, c), a, b, c);
  return detail::finish<M>(fma_directed(M.rounding, a, b, c), a, b, c);
}

template <Mods M = kRn, std::floating_point T>
inline T div(T a, T b) {
  a = detail::input<M>(a);
  b = detail::input<M>(b);
  if constexpr (M.rounding == Rounding::rn) return detail::finish<M>(a / b, a, b);
  return detail::finish<M>(div_directed(M.rounding, a, b), a, b);
}

template <Mods M = kRn, std::floating_point T>
inline T rcp(T a) {
  a = detail::input<M>(a);
  if constexpr (M.rounding == Rounding::rn) return detail::finish<M>(T{1} / a, a);
  return detail::finish<M>(div_directed(M.rounding, T{1}, a), a);
}

template <Mods M = kRn, std::floating_point T>
inline T sqrt(T a) {
  a = detail::input<M>(a);
  if constexpr (M.rounding == Rounding::rn) return detail::finish<M>(std::sqrt(a), a);
  return detail::finish<M>(sqrt_directed(M.rounding, a), a);
}

}  // namespace fb::num
