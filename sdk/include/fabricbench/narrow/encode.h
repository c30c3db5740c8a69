// Rounding to, and widening from, small floating-point formats in plain integer arithmetic: what the host does, and the
// device where PTX has no instruction. Exact for every input and rounding.
#pragma once
#include "fabricbench/language.h"

// C++11's constant functions are a single return.
#if __cplusplus >= 201402L
#define FABRICBENCH_CONSTEXPR constexpr
#else
#define FABRICBENCH_CONSTEXPR FABRICBENCH_BOTH
#endif

namespace fabricbench {

enum class Rounding { nearest_even, toward_zero, up, down };

// Sign, exponent and mantissa bits as IEEE 754 lays them out.
struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;

  constexpr int minimum_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
  constexpr unsigned int sign() const { return 1u << (exponent_bits + mantissa_bits); }
  constexpr unsigned int infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
};
inline constexpr SmallFormat kHalf{5, 10}, kBfloat16{8, 7}, kE5m2{5, 2}, kE4m3{4, 3}, kE3m2{3, 2}, kE2m3{2, 3}, kE2m1{2, 1};

// The code of |value| as if exponents went on for ever: codes at or above format.infinity() have overflowed. value is
// neither infinite nor NaN.
FABRICBENCH_CONSTEXPR unsigned int magnitude_code(double value, SmallFormat format, Rounding rounding) {
  const auto bits = __builtin_bit_cast(unsigned long long, value);
  const bool negative = bits >> 63;
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const auto mantissa = (bits & ((1ull << 52) - 1)) | (biased != 0 ? 1ull << 52 : 0);
  const int value_exponent = (biased != 0 ? biased : 1) - 1023;
  const int exponent = value_exponent < format.minimum_exponent() ? format.minimum_exponent() : value_exponent;

  const int drop_all = exponent - format.mantissa_bits - value_exponent + 52;
  const int drop = drop_all > 62 ? 62 : drop_all;  // everything is dropped from 54 on
  const auto kept = mantissa >> drop;
  const auto rest = mantissa & ((1ull << drop) - 1);
  const auto half = 1ull << (drop - 1);
  bool increment = false;
  switch (rounding) {
    case Rounding::nearest_even:
      increment = rest > half || (rest == half && (kept & 1));
      break;
    case Rounding::toward_zero:
      break;
    case Rounding::up:
      increment = rest != 0 && !negative;
      break;
    case Rounding::down:
      increment = rest != 0 && negative;
      break;
  }
  // kept holds the hidden bit of a normal number, which is the first unit of the exponent field.
  return (static_cast<unsigned int>(exponent - format.minimum_exponent()) << format.mantissa_bits) +
         static_cast<unsigned int>(kept) + increment;
}

// value in a format with infinities; NaN becomes the positive NaN with all mantissa bits set, as cvt gives it.
FABRICBENCH_CONSTEXPR unsigned int encode(double value, SmallFormat format,
                                          Rounding rounding = Rounding::nearest_even) {
  if (value != value) return format.sign() - 1;
  const bool negative = __builtin_bit_cast(unsigned long long, value) >> 63;
  const unsigned int sign = negative ? format.sign() : 0;
  if (__builtin_isinf(value)) return sign | format.infinity();
  const unsigned int code = magnitude_code(value, format, rounding);
  if (code < format.infinity()) return sign | code;
  const bool to_infinity = rounding == Rounding::nearest_even || rounding == (negative ? Rounding::down : Rounding::up);
  return sign | (to_infinity ? format.infinity() : format.infinity() - 1);
}

// value in a format of numbers alone: beyond the largest, and for NaN, it is the largest.
FABRICBENCH_CONSTEXPR unsigned char encode_tiny(double value, SmallFormat format) {
  const unsigned int largest = format.sign() - 1;
  if (value != value) return static_cast<unsigned char>(largest);
  const unsigned int sign = __builtin_bit_cast(unsigned long long, value) >> 63 ? format.sign() : 0;
  const unsigned int code = __builtin_isinf(value) ? ~0u : magnitude_code(value, format, Rounding::nearest_even);
  return static_cast<unsigned char>(sign | (code < largest ? code : largest));
}

// Codes at or above format.infinity() are taken for numbers as well: E4M3 has numbers there.
FABRICBENCH_CONSTEXPR float decode_finite(unsigned int code, SmallFormat format) {
  const unsigned int magnitude = code & (format.sign() - 1);
  const unsigned int sign = code & format.sign() ? 0x80000000u : 0;
  // Read with the float's bias the number is too small by a power of two, which the product puts right, exactly.
  const int missing = 127 - 1 + format.minimum_exponent();
  const auto scale = __builtin_bit_cast(float, static_cast<unsigned int>(127 + missing) << 23);
  const auto unscaled = __builtin_bit_cast(float, magnitude << (23 - format.mantissa_bits));
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(unsigned int, unscaled* scale));
}

FABRICBENCH_CONSTEXPR float decode(unsigned int code, SmallFormat format) {
  const unsigned int magnitude = code & (format.sign() - 1);
  if (magnitude < format.infinity()) return decode_finite(code, format);
  const unsigned int sign = code & format.sign() ? 0x80000000u : 0;
  return __builtin_bit_cast(float, sign | 0x7f800000u | magnitude << (23 - format.mantissa_bits));
}

// a × b + c rounded once, for formats whose products are exact in double: the sum is rounded to odd, so that the second
// rounding, to the small format, sees on which side of a tie it lies.
FABRICBENCH_CONSTEXPR double fused_multiply_add_to_odd(double a, double b, double c) {
  const double product = a * b;
  const double sum = product + c;
  if (sum != sum || __builtin_isinf(sum)) return sum;
  const double other = sum - product;
  const double lost = (product - (sum - other)) + (c - other);
  auto bits = __builtin_bit_cast(unsigned long long, sum);
  if (lost == 0 || (bits & 1)) return sum;
  bits += (lost > 0) == (sum > 0) ? 1 : -1ull;
  return __builtin_bit_cast(double, bits);
}

// A whole number as an integer; out of range saturates, NaN gives 0.
template <class T>
FABRICBENCH_CONSTEXPR T saturate_to(float whole) {
  constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
  constexpr int kDigits = 8 * sizeof(T) - kSigned;
  constexpr T kHighest = static_cast<T>(~0ull >> (64 - kDigits));
  const float limit = __builtin_bit_cast(float, (127u + kDigits) << 23);  // 2^kDigits
  if (whole != whole) return 0;
  if (whole >= limit) return kHighest;
  if (whole <= (kSigned ? -limit : 0.0f)) return static_cast<T>(kSigned ? -kHighest - 1 : 0);
  return static_cast<T>(whole);
}

}  // namespace fabricbench
