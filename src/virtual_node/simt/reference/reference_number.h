#pragma once

// Numbers of the slow engine: every floating-point format becomes sign, integer and exponent, the four operations are
// done on integers, and one function rounds. Nothing here uses the host's floating point.

#include <cstdint>

namespace fb::simt::reference {

using U128 = unsigned __int128;
using I128 = __int128;

constexpr uint64_t kQuiet64 = uint64_t{1} << 51;  // of an f64 NaN

enum class Rounding : uint8_t { nearest_even, nearest_away, zero, down, up };

// A binary format, sign bit on top. Codes from `infinity` on are no finite values; a format without infinity gives
// `overflow` for what is too large, one without NaN has nan == 0.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
  uint64_t largest;  // magnitude code of the largest finite value
  uint64_t nan;      // the canonical one
};

inline constexpr Format kF64{11, 52, true, 0x7FEF'FFFF'FFFF'FFFF, 0xFFF8'0000'0000'0000};
inline constexpr Format kF32{8, 23, true, 0x7F7F'FFFF, 0x7FFF'FFFF};
inline constexpr Format kTf32{8, 10, true, 0x3FBFF, 0x3FFFF};  // without its 13 low zero bits
inline constexpr Format kF16{5, 10, true, 0x7BFF, 0x7FFF};
inline constexpr Format kBf16{8, 7, true, 0x7F7F, 0x7FFF};
inline constexpr Format kE5m2{5, 2, true, 0x7B, 0x7F};
inline constexpr Format kE4m3{4, 3, false, 0x7E, 0x7F};
inline constexpr Format kE3m2{3, 2, false, 0x1F, 0};
inline constexpr Format kE2m3{2, 3, false, 0x1F, 0};
inline constexpr Format kE2m1{2, 1, false, 0x07, 0};

inline constexpr int total_bits(const Format& f) { return 1 + f.exponent_bits + f.mantissa_bits; }
inline constexpr uint64_t sign_bit(const Format& f) { return uint64_t{1} << (f.exponent_bits + f.mantissa_bits); }

// 256 bits: room for an exact product of doubles and 140 bits below it.
struct U256 {
  U128 hi = 0, lo = 0;

  bool is_zero() const { return hi == 0 && lo == 0; }
  int width() const;  // position of the highest bit plus one
  bool bit(int k) const;
  bool any_below(int k) const;  // a set bit at a position < k
  U256 shift_left(int k) const;
  U256 shift_right(int k) const;  // drops bits
  friend bool operator==(const U256&, const U256&) = default;
};

enum class Kind : uint8_t { nan, infinity, finite };

// (-1)^negative · m · 2^e; zero is m = 0 and has a sign.
struct Number {
  Kind kind = Kind::finite;
  bool negative = false;
  U256 m;
  int e = 0;

  bool is_zero() const { return kind == Kind::finite && m.is_zero(); }
};

Number decode(uint64_t code, const Format& format);
// One rounding. `finite` makes everything too large, infinity included, the largest finite value (.satfinite).
uint64_t encode(const Number& n, const Format& format, Rounding mode, bool finite = false);

Number from_integer(bool negative, U128 magnitude);

// Exact apart from a last bit that stands for everything below it, far behind what any format keeps. The rounding mode
// decides only the sign of a zero sum.
Number add(const Number& a, const Number& b, Rounding mode);
Number multiply(const Number& a, const Number& b);
Number divide(const Number& a, const Number& b);
Number square_root(const Number& a);

// To an integer, rounded; the result is finite, with e >= 0 unless it is zero.
Number to_integral(const Number& n, Rounding mode);

// -1, 0, 1; neither is NaN; -0 equals +0.
int compare(const Number& a, const Number& b);

inline bool is_nan(uint64_t code, const Format& f) { return decode(code, f).kind == Kind::nan; }
bool is_subnormal(uint64_t code, const Format& f);
// Subnormals become zero of their sign.
inline uint64_t flush(uint64_t code, const Format& f) { return is_subnormal(code, f) ? code & sign_bit(f) : code; }

// To [+0, 1]; NaN and -0 become +0.
uint64_t saturate(uint64_t code, const Format& f);

}  // namespace fb::simt::reference
