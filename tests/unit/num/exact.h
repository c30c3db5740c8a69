#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "virtual_node/num/float_format.h"

// The tests' own arithmetic: slow, exact, and built on nothing that it tests.
namespace fb::num::exact {

// A fixed-point number wide enough for any sum of products of two doubles.
class Number {
 public:
  // += a * b. An infinite factor stands for 2^1024, the value after the largest double.
  Number& add(double a, double b = 1.0) {
    int exponent_a = 0;
    int exponent_b = 0;
    const uint64_t ma = integer_part(a, exponent_a);
    const uint64_t mb = integer_part(b, exponent_b);
    place(static_cast<unsigned __int128>(ma) * mb, exponent_a + exponent_b, std::signbit(a) != std::signbit(b));
    return *this;
  }

  int sign() const {
    if (static_cast<int64_t>(words_.back()) < 0) return -1;
    for (const uint64_t word : words_) {
      if (word != 0) return 1;
    }
    return 0;
  }

 private:
  static constexpr int kLowest = -2304;  // exponent of the lowest bit
  static constexpr size_t kWords = 70;

  static uint64_t integer_part(double x, int& exponent) {
    if (std::isinf(x)) {
      exponent = 1024;
      return 1;
    }
    const double fraction = std::frexp(std::fabs(x), &exponent);
    exponent -= 53;
    return static_cast<uint64_t>(std::ldexp(fraction, 53));
  }

  void place(unsigned __int128 value, int exponent, bool negative) {
    if (value == 0) return;
    const auto shift = static_cast<unsigned>(exponent - kLowest);
    const unsigned in_word = shift % 64;
    const auto low = static_cast<uint64_t>(value);
    const auto high = static_cast<uint64_t>(value >> 64);
    const std::array<uint64_t, 3> parts{low << in_word, in_word == 0 ? high : high << in_word | low >> (64 - in_word),
                                        in_word == 0 ? 0 : high >> (64 - in_word)};
    unsigned __int128 carry = 0;
    for (size_t i = shift / 64, k = 0; i < kWords && (k < 3 || carry != 0); ++i, ++k) {
      const unsigned __int128 part = (k < 3 ? parts[k] : 0) + carry;
      const uint64_t before = words_[i];
      words_[i] = negative ? before - static_cast<uint64_t>(part) : before + static_cast<uint64_t>(part);
      const bool over = negative ? words_[i] > before : words_[i] < before;
      carry = (part >> 64) + static_cast<unsigned>(over);
    }
  }

  std::array<uint64_t, kWords> words_{};
};

// Is `code` (a magnitude with `negative` as its sign) the correct rounding of some exact value?
//   value(n)      the value of magnitude code n as a double; for the code after the largest finite one, the next power
//                 of two (infinity stands for 2^1024)
//   twice(u, v)   sign of 2 * exact - u - v
//   largest       codes above it are infinity; if `clamped`, `largest` itself also stands for everything above
template <class Value, class Twice>
bool correctly_rounded(Rounding rounding, bool negative, uint64_t code, uint64_t largest, bool clamped, Value value,
                       Twice twice) {
  const auto compare = [&](uint64_t m, uint64_t n) {
    return negative ? -twice(-value(m), -value(n)) : twice(value(m), value(n));
  };
  const bool has_upper = code < largest || (code == largest && !clamped);
  const bool even = code % 2 == 0;
  if (code > largest + 1) return false;
  if (rounding == Rounding::rn || rounding == Rounding::rna) {
    const bool ties_stay_below = rounding == Rounding::rn ? even : false;
    const bool ties_come_up = rounding == Rounding::rn ? even : true;
    if (has_upper) {
      const int upper = compare(code, code + 1);
      if (upper > 0 || (upper == 0 && !ties_stay_below)) return false;
    }
    if (code == 0) return compare(0, 0) >= 0;
    const int lower = compare(code - 1, code);
    return lower > 0 || (lower == 0 && ties_come_up);
  }
  const int here = compare(code, code);
  const bool away = rounding == (negative ? Rounding::rm : Rounding::rp);
  if (!away) {
    return here >= 0 && code <= largest && (code == largest || compare(code + 1, code + 1) < 0);
  }
  if (code > largest) return compare(largest, largest) > 0;
  if (here > 0) return clamped && code == largest;
  return code == 0 ? here == 0 : compare(code - 1, code - 1) > 0;
}

// value() of a FloatFormat, computed from the definition.
inline double value_of(const FloatFormat& f, uint64_t code) {
  const auto exponent = static_cast<int>(code >> f.mantissa_bits);
  const auto mantissa = static_cast<double>(code & ((uint64_t{1} << f.mantissa_bits) - 1));
  const double one = std::ldexp(1.0, f.mantissa_bits);
  return exponent == 0 ? std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                       : std::ldexp(one + mantissa, exponent - f.bias - f.mantissa_bits);
}

inline double value_of_f64(uint64_t code) { return std::bit_cast<double>(code); }

// twice() of a value that is itself a double.
inline auto twice_value(double x) {
  return [x](double u, double v) { return Number().add(x, 2).add(-u).add(-v).sign(); };
}

}  // namespace fb::num::exact
