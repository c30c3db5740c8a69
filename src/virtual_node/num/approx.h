#pragma once

#include <cmath>
#include <cstdint>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/float_format.h"

// The .approx instructions. Each result is a double-precision value rounded once to f32, so it lies within 0.51 ulp of
// the exact value: well inside what PTX allows (ex2 2 ulp, lg2 2^-22 absolute, rcp 1 ulp, rsqrt 2^-22.9 relative,
// sqrt 2^-23 relative, sin and cos 2^-20.5 absolute, tanh 2^-11 relative), but not the bits of any GPU.
//
// ex2, lg2, rcp, rsqrt and sqrt use only IEEE + - * / sqrt: the same bits on every host, and they vectorise. sin, cos
// and tanh call the host's double libm, which may differ in the last bit of a double; that reaches the f32 result about
// once in 2^28 calls.
//
// Special cases follow the PTX tables: NaN gives 0x7fffffff, domain errors too. With Mods::ftz a subnormal input is
// zero of its sign and a subnormal result is flushed; without it subnormals are computed like any other value.
namespace fb::num {

namespace detail {

// 2^x for |x| <= 1000; relative error below 3e-13. Taylor series of e^(f ln 2), |f| <= 1/2.
inline double exp2_core(double x) {
  constexpr double kLn2 = 0.6931471805599453;
  constexpr double kMagic = 0x1.8p52;  // adding it rounds to an integer, which then sits in the low bits
  const double shifted = x + kMagic;
  const double f = (x - (shifted - kMagic)) * kLn2;
  double p = 1.0 / 3628800;
  p = p * f + 1.0 / 362880;
  p = p * f + 1.0 / 40320;
  p = p * f + 1.0 / 5040;
  p = p * f + 1.0 / 720;
  p = p * f + 1.0 / 120;
  p = p * f + 1.0 / 24;
  p = p * f + 1.0 / 6;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  const uint64_t scale = (std::bit_cast<uint64_t>(shifted) + 1023) << 52;  // bits of kMagic above 12 fall out
  return p * std::bit_cast<double>(scale);
}

// Any float. Beyond ±200 the result is 0 or infinity in every format it is rounded to. NaN in, NaN out.
inline double exp2_of(float x) {
  const float low = x < -200.0f ? -200.0f : x;
  const float clamped = low > 200.0f ? 200.0f : low;
  const double r = exp2_core(static_cast<double>(clamped));
  return x != x ? kNanF64 : r;
}

// log2 of a positive, finite, normal double; relative error below 1e-13, also close to 1.
inline double log2_core(double x) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdu;
  constexpr uint64_t kBias = uint64_t{1023} << 52;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t biased = (bits - kSqrtHalf + kBias) >> 52;  // exponent for a mantissa in [√½, √2), plus 1023
  const double m = std::bit_cast<double>(bits - (biased << 52) + kBias);
  const double exponent = std::bit_cast<double>(0x4330000000000000u | biased) - (0x1p52 + 1023);
  const double s = (m - 1) / (m + 1);
  const double q = s * s;
  double p = 1.0 / 17;
  p = p * q + 1.0 / 15;
  p = p * q + 1.0 / 13;
  p = p * q + 1.0 / 11;
  p = p * q + 1.0 / 9;
  p = p * q + 1.0 / 7;
  p = p * q + 1.0 / 5;
  p = p * q + 1.0 / 3;
  p = p * q + 1.0;
  constexpr double kTwoOverLn2 = 2.8853900817779268;
  return exponent + p * s * kTwoOverLn2;
}

// The upper 32 bits, a subnormal flushed.
constexpr double upper_word(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x) & 0xffffffff00000000u;
  return std::bit_cast<double>((bits & 0x7ff0000000000000u) == 0 ? bits & 0x8000000000000000u : bits);
}

}  // namespace detail

// ex2: -inf → +0, ±0 and subnormals → 1, +inf → +inf.
template <Mods M = kRn>
inline float ex2_approx(float x) {
  x = detail::input<M>(x);
  return detail::finish<M>(static_cast<float>(detail::exp2_of(x)));
}

// lg2: ±0 → -inf, negative → NaN, +inf → +inf. With ftz a subnormal of either sign counts as zero → -inf.
template <Mods M = kRn>
inline float lg2_approx(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  x = detail::input<M>(x);
  const bool regular = x > 0.0f && x < kInfinity;
  const double safe = static_cast<double>(regular ? x : 1.0f);
  float r = static_cast<float>(detail::log2_core(safe));
  r = x == kInfinity ? kInfinity : r;
  r = x == 0.0f ? -kInfinity : r;
  r = x < 0.0f || x != x ? kNanF32 : r;
  return detail::finish<M>(r);
}

// rcp: ±0 → ±inf, ±inf → ±0. One IEEE division: 0.5 ulp.
template <Mods M = kRn>
inline float rcp_approx(float x) {
  return rcp<M>(x);
}

// rsqrt: ±0 → ±inf, +inf → +0, negative → NaN; with ftz a negative subnormal is -0 → -inf.
template <Mods M = kRn>
inline float rsqrt_approx(float x) {
  x = detail::input<M>(x);
  return detail::finish<M>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))));
}

// sqrt: ±0 → ±0, +inf → +inf, negative → NaN; with ftz a negative subnormal → -0.
template <Mods M = kRn>
inline float sqrt_approx(float x) {
  return sqrt<M>(x);
}

// sin: ±0 → ±0, ±inf → NaN. Large arguments are reduced exactly, which hardware does not promise.
template <Mods M = kRn>
inline float sin_approx(float x) {
  x = detail::input<M>(x);
  return detail::finish<M>(static_cast<float>(std::sin(static_cast<double>(x))));
}

// cos: ±0 → 1, ±inf → NaN.
template <Mods M = kRn>
inline float cos_approx(float x) {
  x = detail::input<M>(x);
  return detail::finish<M>(static_cast<float>(std::cos(static_cast<double>(x))));
}

// tanh: ±0 → ±0, ±inf → ±1. PTX has no ftz form.
inline float tanh_approx(float x) { return detail::finish<kRn>(static_cast<float>(std::tanh(static_cast<double>(x)))); }

// div.full and div.approx: the correctly rounded quotient, except that div.approx gives 0 for 2^126 < |b| < 2^128 (NaN
// if a is infinite), which PTX documents and programs do run into.
template <Mods M = kRn>
inline float div_full(float a, float b) {
  return div<M>(a, b);
}

template <Mods M = kRn>
inline float div_approx(float a, float b) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float magnitude = b < 0 ? -b : b;
  const bool huge = magnitude > 0x1p126f && magnitude < kInfinity;
  return div<M>(a, huge ? (b < 0 ? -kInfinity : kInfinity) : b);
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: only the upper 32 bits of the input count and only those of the result
// are set ("gross approximation": 20 mantissa bits, relative error below 2^-19).
inline double rcp_approx(double x) { return x != x ? kNanF64 : detail::upper_word(1.0 / detail::upper_word(x)); }

inline double rsqrt_approx(double x) {
  return x != x ? kNanF64 : canonical(detail::upper_word(1.0 / std::sqrt(detail::upper_word(x))));
}

}  // namespace fb::num
