#include "machine/exact/exact_numbers.h"

#include <cmath>
#include <utility>

#include "num/exact.h"

namespace fb::cases {
namespace {

using Sum = num::exact::Number;

uint64_t magnitude(const Format& f, uint64_t code) { return code & (sign_bit(f) - 1); }
uint64_t infinity(const Format& f) { return f.largest + 1; }

uint64_t with_sign(const Format& f, bool negative, uint64_t code) { return negative ? code | sign_bit(f) : code; }

// Of any magnitude; the code after the largest finite one is the next power of two.
double magnitude_value(const Format& f, uint64_t code) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(code >> f.mantissa_bits);
  const auto fraction = static_cast<double>(code & ((uint64_t{1} << f.mantissa_bits) - 1));
  const double hidden = exponent == 0 ? 0 : std::ldexp(1.0, f.mantissa_bits);
  return std::ldexp(hidden + fraction, (exponent == 0 ? 1 : exponent) - bias - f.mantissa_bits);
}

}  // namespace

const Format* format_of(std::string_view type) {
  static constexpr std::pair<std::string_view, const Format*> kFormats[] = {
      {"f64", &kF64},   {"f32", &kF32},   {"f16", &kF16},   {"bf16", &kBf16}, {"tf32", &kTf32},
      {"e5m2", &kE5m2}, {"e4m3", &kE4m3}, {"e3m2", &kE3m2}, {"e2m3", &kE2m3}, {"e2m1", &kE2m1}};
  for (const auto& [name, format] : kFormats) {
    if (name == type) return format;
  }
  return nullptr;
}

uint64_t sign_bit(const Format& f) { return uint64_t{1} << (f.exponent_bits + f.mantissa_bits); }

bool is_nan(const Format& f, uint64_t code) { return magnitude(f, code) > f.largest + (f.infinity ? 1 : 0); }

bool is_infinite(const Format& f, uint64_t code) { return f.infinity && magnitude(f, code) == infinity(f); }

bool is_subnormal(const Format& f, uint64_t code) {
  const uint64_t m = magnitude(f, code);
  return m != 0 && m >> f.mantissa_bits == 0;
}

bool is_negative(const Format& f, uint64_t code) { return (code & sign_bit(f)) != 0; }

double value_of(const Format& f, uint64_t code) {
  const double m = is_infinite(f, code) ? HUGE_VAL : magnitude_value(f, magnitude(f, code));
  return is_negative(f, code) ? -m : m;
}

uint64_t flush(const Format& f, uint64_t code) { return is_subnormal(f, code) ? code & sign_bit(f) : code; }

uint64_t round_to(const Format& f, Round round, const Twice& twice, bool negative_zero, bool finite) {
  const int sign = twice(0, 0);
  if (sign == 0) return with_sign(f, negative_zero, 0);
  const bool negative = sign < 0;
  const auto compare = [&](double u, double v) { return negative ? -twice(-u, -v) : twice(u, v); };
  // The largest code whose value is not above.
  uint64_t below = 0, above = f.largest + 1;
  while (above - below > 1) {
    const uint64_t middle = below + (above - below) / 2;
    const double value = magnitude_value(f, middle);
    (compare(value, value) >= 0 ? below : above) = middle;
  }
  const double value = magnitude_value(f, below);
  bool up = false;
  if (compare(value, value) != 0) {
    const int half = compare(value, magnitude_value(f, below + 1));
    up = round == Round::nearest_even   ? half > 0 || (half == 0 && below % 2 == 1)
         : round == Round::nearest_away ? half >= 0
         : round == Round::down         ? negative
         : round == Round::up           ? !negative
                                        : false;
  }
  const uint64_t code = up ? below + 1 : below;
  const bool too_large = code > f.largest;
  return with_sign(f, negative, too_large && (finite || !f.infinity) ? f.largest : code);
}

uint64_t fma(const Format& to, Round round, double a, double b, double c) {
  const bool product_negative = std::signbit(a) != std::signbit(b);
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return to.nan;
  if (std::isinf(a) || std::isinf(b)) {
    if (a == 0 || b == 0 || (std::isinf(c) && std::signbit(c) != product_negative)) return to.nan;
    return with_sign(to, product_negative, infinity(to));
  }
  if (std::isinf(c)) return with_sign(to, std::signbit(c), infinity(to));
  const Sum exact = Sum().add(a, b).add(a, b).add(c, 2);
  // What is not zero keeps its sign even when it rounds to zero.
  const bool negative_zero = product_negative == std::signbit(c) ? product_negative : round == Round::down;
  return round_to(to, round, [&](double u, double v) { return Sum(exact).add(-u).add(-v).sign(); }, negative_zero);
}

uint64_t add(const Format& to, Round round, double a, double b) { return fma(to, round, a, 1, b); }

uint64_t multiply(const Format& to, Round round, double a, double b) {
  const bool negative = std::signbit(a) != std::signbit(b);
  return fma(to, round, a, b, negative ? -0.0 : 0.0);
}

uint64_t divide(const Format& to, Round round, double a, double b) {
  const bool negative = std::signbit(a) != std::signbit(b);
  if (std::isnan(a) || std::isnan(b) || (std::isinf(a) && std::isinf(b)) || (a == 0 && b == 0)) return to.nan;
  if (std::isinf(a) || b == 0) return with_sign(to, negative, infinity(to));
  if (std::isinf(b)) return with_sign(to, negative, 0);
  const auto twice = [&](double u, double v) {
    const int s = Sum().add(a, 2).add(-u, b).add(-v, b).sign();
    return b < 0 ? -s : s;
  };
  return round_to(to, round, twice, negative);
}

uint64_t square_root(const Format& to, Round round, double a) {
  if (std::isnan(a) || a < 0) return to.nan;
  if (std::isinf(a)) return infinity(to);
  // 2√a against u + v, both squared.
  const auto twice = [&](double u, double v) {
    return Sum().add(a, 4).add(-u, u).add(-u, v).add(-u, v).add(-v, v).sign();
  };
  return round_to(to, round, twice, std::signbit(a));
}

uint64_t from_integer(const Format& to, Round round, double high, double low) {
  return fma(to, round, high, 4294967296.0, low);
}

double to_integral(Round round, double x) {
  const double below = std::floor(x), rest = x - below;
  const bool odd = std::fmod(below, 2) != 0;
  const bool up = round == Round::nearest_even ? rest > 0.5 || (rest == 0.5 && odd)
                  : round == Round::up         ? rest > 0
                  : round == Round::zero       ? rest > 0 && x < 0
                                               : false;
  return std::copysign(up ? below + 1 : below, x);
}

}  // namespace fb::cases
