#include "virtual_node/simt/reference/reference_number.h"

namespace fb::simt::reference {
namespace {

constexpr Number kNan{Kind::nan, false, {}, 0};

Number infinity(bool negative) { return {Kind::infinity, negative, {}, 0}; }
Number zero(bool negative) { return {Kind::finite, negative, {}, 0}; }

bool less(const U256& a, const U256& b) { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; }

U256 plus(const U256& a, const U256& b) {
  const U128 lo = a.lo + b.lo;
  return {a.hi + b.hi + (lo < a.lo ? 1 : 0), lo};
}

U256 minus(const U256& a, const U256& b) { return {a.hi - b.hi - (a.lo < b.lo ? 1 : 0), a.lo - b.lo}; }

// The highest bit at position 250.
Number normalised(Number n) {
  const int up = 251 - n.m.width();
  n.m = n.m.shift_left(up);
  n.e -= up;
  return n;
}

// Bits that fall out are remembered in the last one.
U256 shift_right_sticky(const U256& m, int k) {
  if (k > 255) return {0, m.is_zero() ? U128{0} : U128{1}};
  U256 r = m.shift_right(k);
  if (m.any_below(k)) r.lo |= 1;
  return r;
}

// Should the kept part grow by one? `half` and `rest` tell about what is dropped.
bool rounds_up(Rounding mode, bool negative, bool odd, bool half, bool rest) {
  switch (mode) {
    case Rounding::nearest_even:
      return half && (rest || odd);
    case Rounding::nearest_away:
      return half;
    case Rounding::zero:
      return false;
    case Rounding::down:
      return negative && (half || rest);
    case Rounding::up:
      return !negative && (half || rest);
  }
  return false;
}

// m · 2^e as an integer multiple of 2^unit.
U256 in_units(const Number& n, int unit, Rounding mode) {
  const int drop = unit - n.e;
  if (drop <= 0) return n.m.shift_left(-drop);
  U256 kept = drop > 255 ? U256{} : n.m.shift_right(drop);
  const bool half = drop <= 256 && n.m.bit(drop - 1);
  const bool rest = drop > 256 ? !n.m.is_zero() : n.m.any_below(drop - 1);
  if (rounds_up(mode, n.negative, kept.bit(0), half, rest)) kept = plus(kept, {0, 1});
  return kept;
}

}  // namespace

int U256::width() const {
  const auto top = [](U128 part) {
    const auto high = static_cast<uint64_t>(part >> 64);
    const auto low = static_cast<uint64_t>(part);
    return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
  };
  return hi != 0 ? 128 + top(hi) : top(lo);
}

bool U256::bit(int k) const {
  if (k < 0 || k > 255) return false;
  return ((k < 128 ? lo >> k : hi >> (k - 128)) & 1) != 0;
}

bool U256::any_below(int k) const {
  if (k <= 0) return false;
  if (k >= 256) return !is_zero();
  if (k >= 128) return lo != 0 || (k > 128 && hi << (256 - k) != 0);
  return lo << (128 - k) != 0;
}

U256 U256::shift_left(int k) const {
  if (k < 0) return shift_right(-k);
  if (k == 0) return *this;
  if (k >= 256) return {};
  if (k >= 128) return {lo << (k - 128), 0};
  return {hi << k | lo >> (128 - k), lo << k};
}

U256 U256::shift_right(int k) const {
  if (k < 0) return shift_left(-k);
  if (k == 0) return *this;
  if (k >= 256) return {};
  if (k >= 128) return {0, hi >> (k - 128)};
  return {hi >> k, lo >> k | hi << (128 - k)};
}

Number decode(uint64_t code, const Format& f) {
  const bool negative = (code & sign_bit(f)) != 0;
  const uint64_t magnitude = code & (sign_bit(f) - 1);
  if (magnitude > f.largest) {
    return f.has_infinity && magnitude == f.largest + 1 ? infinity(negative) : Number{Kind::nan, negative, {}, 0};
  }
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const uint64_t mantissa = magnitude & ((uint64_t{1} << f.mantissa_bits) - 1);
  if (exponent == 0) return {Kind::finite, negative, {0, mantissa}, 1 - bias - f.mantissa_bits};
  return {Kind::finite, negative, {0, mantissa | uint64_t{1} << f.mantissa_bits}, exponent - bias - f.mantissa_bits};
}

uint64_t encode(const Number& n, const Format& f, Rounding mode, bool finite) {
  if (n.kind == Kind::nan) return f.nan == 0 ? f.largest : f.nan;
  const uint64_t sign = n.negative ? sign_bit(f) : 0;
  const uint64_t beyond = f.has_infinity ? f.largest + 1 : f.nan == 0 ? f.largest : f.nan;
  if (n.kind == Kind::infinity) return sign | (finite ? f.largest : beyond);
  if (n.m.is_zero()) return sign;
  const bool away = mode == Rounding::nearest_even || mode == Rounding::nearest_away ||
                    mode == (n.negative ? Rounding::down : Rounding::up);
  const uint64_t too_large = sign | (finite || !away ? f.largest : beyond);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int smallest_unit = 1 - bias - f.mantissa_bits;
  const int unit_if_normal = n.m.width() - 1 + n.e - f.mantissa_bits;
  const int unit = unit_if_normal > smallest_unit ? unit_if_normal : smallest_unit;
  if (unit - smallest_unit > (2 << f.exponent_bits)) return too_large;  // by far: its code would not fit
  // The code of a magnitude grows by one with each unit, also from one power of two to the next.
  const auto units = static_cast<uint64_t>(in_units(n, unit, mode).lo);
  const uint64_t code = (static_cast<uint64_t>(unit - smallest_unit) << f.mantissa_bits) + units;
  return code <= f.largest ? sign | code : too_large;
}

Number from_integer(bool negative, U128 magnitude) { return {Kind::finite, negative, {0, magnitude}, 0}; }

Number add(const Number& a, const Number& b, Rounding mode) {
  if (a.kind == Kind::nan || b.kind == Kind::nan) return kNan;
  if (a.kind == Kind::infinity) return b.kind == Kind::infinity && a.negative != b.negative ? kNan : a;
  if (b.kind == Kind::infinity) return b;
  const bool zero_sign = a.negative == b.negative ? a.negative : mode == Rounding::down;
  if (a.is_zero() && b.is_zero()) return zero(zero_sign);
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  Number x = normalised(a), y = normalised(b);
  if (x.e < y.e || (x.e == y.e && less(x.m, y.m))) {
    const Number t = x;
    x = y;
    y = t;
  }
  const U256 small = shift_right_sticky(y.m, x.e - y.e);
  Number r{Kind::finite, x.negative, {}, x.e};
  r.m = x.negative == y.negative ? plus(x.m, small) : minus(x.m, small);
  return r.m.is_zero() ? zero(mode == Rounding::down) : r;
}

Number multiply(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return kNan;
  if (a.kind == Kind::infinity || b.kind == Kind::infinity) {
    return a.is_zero() || b.is_zero() ? kNan : infinity(negative);
  }
  if (a.is_zero() || b.is_zero()) return zero(negative);
  // Operands are values of a format: at most 53 bits each.
  return {Kind::finite, negative, {0, a.m.lo * b.m.lo}, a.e + b.e};
}

Number divide(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::nan || b.kind == Kind::nan) return kNan;
  if (a.kind == Kind::infinity) return b.kind == Kind::infinity ? kNan : infinity(negative);
  if (b.kind == Kind::infinity) return zero(negative);
  if (b.is_zero()) return a.is_zero() ? kNan : infinity(negative);
  if (a.is_zero()) return zero(negative);
  // A dividend of 127 bits by a divisor of at most 53: at least 74 bits of quotient, one more for the remainder.
  const int up = 127 - a.m.width();
  const U128 dividend = a.m.lo << up;
  const U128 quotient = dividend / b.m.lo;
  const U128 rest = dividend % b.m.lo;
  return {Kind::finite, negative, {0, quotient << 1 | (rest != 0 ? 1 : 0)}, a.e - up - b.e - 1};
}

Number square_root(const Number& a) {
  if (a.kind == Kind::nan) return kNan;
  if (a.is_zero()) return a;
  if (a.negative) return kNan;
  if (a.kind == Kind::infinity) return a;
  int up = 125 - a.m.width();
  if (((a.e - up) & 1) != 0) ++up;
  const U128 square = a.m.lo << up;
  U128 root = 0;
  for (int k = 63; k >= 0; --k) {
    const U128 tried = root | U128{1} << k;
    if (tried * tried <= square) root = tried;
  }
  return {Kind::finite, false, {0, root << 1 | (root * root != square ? 1 : 0)}, (a.e - up) / 2 - 1};
}

Number to_integral(const Number& n, Rounding mode) {
  if (n.kind != Kind::finite || n.is_zero() || n.e >= 0) return n;
  return {Kind::finite, n.negative, in_units(n, 0, mode), 0};
}

int compare(const Number& a, const Number& b) {
  if (a.is_zero() && b.is_zero()) return 0;
  if (a.is_zero()) return b.negative ? 1 : -1;
  if (b.is_zero() || a.negative != b.negative) return a.negative ? -1 : 1;
  int larger = 0;  // by magnitude
  if (a.kind == Kind::infinity || b.kind == Kind::infinity) {
    larger = (a.kind == Kind::infinity ? 1 : 0) - (b.kind == Kind::infinity ? 1 : 0);
  } else {
    const Number x = normalised(a), y = normalised(b);
    larger = x.e != y.e ? (x.e > y.e ? 1 : -1) : less(x.m, y.m) ? -1 : less(y.m, x.m) ? 1 : 0;
  }
  return a.negative ? -larger : larger;
}

bool is_subnormal(uint64_t code, const Format& f) {
  const uint64_t magnitude = code & (sign_bit(f) - 1);
  return magnitude != 0 && magnitude >> f.mantissa_bits == 0;
}

uint64_t saturate(uint64_t code, const Format& f) {
  const Number n = decode(code, f), one = from_integer(false, 1);
  if (n.kind == Kind::nan || n.negative) return 0;
  return compare(n, one) > 0 ? encode(one, f, Rounding::zero) : code;
}

}  // namespace fb::simt::reference
