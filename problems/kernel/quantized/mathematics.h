#pragma once

// Formats of 8 bits for the oracles of this family, bit by bit as GPUs convert to them.

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace quantized {

constexpr int64_t kBlock = 128;      // numbers that share a scale
constexpr float kLargestE4m3 = 448;  // the largest number of e4m3: no infinities, codes 0x7f and 0xff are NaN
constexpr float kLargestInt8 = 127;  // -128 is not used

// The largest modulus.
template <class T>
float largest(std::span<const T> values) {
  float most = 0;
  for (const T value : values) most = std::fmax(most, std::fabs(static_cast<float>(value)));
  return most;
}

// What numbers are divided by: where all of them are zeros, so is their scale.
inline float divisor(float scale) { return scale > 0 ? scale : 1; }

// To the nearest whole number, ties to even. Quotients exceed 127 by rounding errors at most.
inline int8_t to_int8(float quotient) { return static_cast<int8_t>(std::nearbyint(quotient)); }

// To the nearest number of e4m3 (a sign, four bits of exponent with bias 7, three of mantissa), ties to the even
// mantissa. Beyond the largest one: the largest one. The sign of zeros is kept.
inline uint8_t to_e4m3(float x) {
  const auto word = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint8_t>(word >> 24 & 0x80);
  const float modulus = std::fabs(x);
  if (modulus >= kLargestE4m3) return sign | 0x7e;
  // Below the smallest normal number, 2^-6, steps are 2^-9; eight of them are the code of 2^-6.
  if (modulus < 0x1p-6F) return sign | static_cast<uint8_t>(std::nearbyint(modulus * 0x1p9F));
  const uint32_t bits = word & 0x7fffffff;
  const uint32_t rounded = (bits + 0x7ffff + (bits >> 20 & 1)) >> 20;  // three bits of 23; a carry goes to the exponent
  return sign | static_cast<uint8_t>(rounded - ((127 - 7) << 3));
}

// The number that a code stands for; it must not be NaN.
inline float from_e4m3(uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const float modulus = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                      : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (code & 0x80) != 0 ? -modulus : modulus;
}

// The scale of a step by the largest moduli of the steps before; 1 where there were only zeros.
inline float delayed_scale(std::span<const float> history) { return divisor(largest(history) / kLargestE4m3); }

}  // namespace quantized
