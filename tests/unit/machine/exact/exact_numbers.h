#pragma once

// Floating point of the drawn cases: every result is exact until one function rounds it. Built on tests' own numbers
// (num/exact.h), apart from both engines.

#include <cstdint>
#include <functional>
#include <string_view>

namespace fb::cases {

enum class Round : uint8_t { nearest_even, nearest_away, zero, down, up };

struct Format {
  int exponent_bits = 0, mantissa_bits = 0;
  uint64_t largest = 0;  // code of the largest finite magnitude
  bool infinity = true;  // follows it
  uint64_t nan = 0;      // the canonical one; 0: none
};

inline constexpr Format kF64{11, 52, 0x7FEF'FFFF'FFFF'FFFF, true, 0x7FFF'FFFF'FFFF'FFFF};
inline constexpr Format kF32{8, 23, 0x7F7F'FFFF, true, 0x7FFF'FFFF};
inline constexpr Format kF16{5, 10, 0x7BFF, true, 0x7FFF};
inline constexpr Format kBf16{8, 7, 0x7F7F, true, 0x7FFF};
inline constexpr Format kTf32{8, 10, 0x3FBFF, true, 0x3FFFF};
inline constexpr Format kE5m2{5, 2, 0x7B, true, 0x7F};
inline constexpr Format kE4m3{4, 3, 0x7E, false, 0x7F};
inline constexpr Format kE3m2{3, 2, 0x1F, false, 0};
inline constexpr Format kE2m3{2, 3, 0x1F, false, 0};
inline constexpr Format kE2m1{2, 1, 0x07, false, 0};

// Null for what is no floating-point type of one element.
const Format* format_of(std::string_view type);

uint64_t sign_bit(const Format& f);
bool is_nan(const Format& f, uint64_t code);
bool is_infinite(const Format& f, uint64_t code);
bool is_subnormal(const Format& f, uint64_t code);
bool is_negative(const Format& f, uint64_t code);
// Of a finite code, or of an infinity: ±infinity.
double value_of(const Format& f, uint64_t code);
// Subnormals are zeros of their sign.
uint64_t flush(const Format& f, uint64_t code);

// The sign of 2x - u - v, where x is what is rounded.
using Twice = std::function<int(double u, double v)>;

// Zero has the sign asked for; `finite`: what is too large becomes the largest finite number.
uint64_t round_to(const Format& f, Round round, const Twice& twice, bool negative_zero, bool finite = false);

// One rounding of a·b + c; NaN, infinities and the sign of zero as IEEE 754 has them.
uint64_t fma(const Format& to, Round round, double a, double b, double c);
uint64_t add(const Format& to, Round round, double a, double b);
uint64_t multiply(const Format& to, Round round, double a, double b);
uint64_t divide(const Format& to, Round round, double a, double b);
uint64_t square_root(const Format& to, Round round, double a);
// Of high · 2^32 + low, both integers.
uint64_t from_integer(const Format& to, Round round, double high, double low);
// To an integer, as a double.
double to_integral(Round round, double x);

}  // namespace fb::cases
