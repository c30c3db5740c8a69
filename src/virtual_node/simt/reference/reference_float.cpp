// The slow engine: floating point of all widths. NaN results follow the rules that virtual_node/num/arith.h,
// virtual_node/num/half_arith.h and virtual_node/num/minmax.h state: f32 and half give one canonical NaN, f64 hands on
// the first NaN operand, quiet.

#include <bit>
#include <cmath>

#include "virtual_node/simt/reference/reference_operation.h"

namespace fb::simt::reference {

using ptx::Form;
using ptx::Mod;
using ptx::Type;

const Format& format_of(Type type) {
  switch (type) {
    case Type::f64:
      return kF64;
    case Type::f16:
    case Type::f16x2:
      return kF16;
    case Type::bf16:
    case Type::bf16x2:
      return kBf16;
    case Type::tf32:
      return kTf32;
    case Type::e5m2:
    case Type::e5m2x2:
      return kE5m2;
    case Type::e4m3:
    case Type::e4m3x2:
      return kE4m3;
    case Type::e3m2x2:
      return kE3m2;
    case Type::e2m3x2:
      return kE2m3;
    case Type::e2m1x2:
      return kE2m1;
    default:
      return kF32;
  }
}

int lanes_of(Type type) { return ptx::kind_of(type) == ptx::TypeKind::packed ? 2 : 1; }

namespace {

Rounding rounding(const Operation& o) {
  if (o.has(Mod::rz)) return Rounding::zero;
  if (o.has(Mod::rm)) return Rounding::down;
  if (o.has(Mod::rp)) return Rounding::up;
  return Rounding::nearest_even;
}

bool is_f64(const Format& f) { return f.exponent_bits == kF64.exponent_bits; }

// What an operation makes of a NaN among its operands: the f64 one that comes first, quiet; else the canonical one.
uint64_t nan_of(const Format& f, std::initializer_list<uint64_t> operands) {
  if (is_f64(f)) {
    for (uint64_t x : operands) {
      if (is_nan(x, f)) return x | kQuiet64;
    }
  }
  return f.nan;
}

// ftz, then sat or relu, on a rounded result.
uint64_t finish(const Operation& o, uint64_t code, const Format& f) {
  if (o.has(Mod::ftz)) code = flush(code, f);
  if (o.has(Mod::sat)) code = saturate(code, f);
  if (o.has(Mod::relu) && !is_nan(code, f) && (code & sign_bit(f)) != 0) code = 0;
  return code;
}

uint64_t input(const Operation& o, uint64_t code, const Format& f) { return o.has(Mod::ftz) ? flush(code, f) : code; }

uint64_t negate(uint64_t code, const Format& f) { return code ^ sign_bit(f); }

// Arithmetic on codes: (operation, codes, format) -> code

using Codes = uint64_t[3];

uint64_t rounded(const Operation& o, const Number& n, const Format& f, std::initializer_list<uint64_t> operands) {
  if (n.kind == Kind::nan) return finish(o, nan_of(f, operands), f);
  return finish(o, encode(n, f, rounding(o)), f);
}

uint64_t sum(const Operation& o, const Codes& x, const Format& f) {
  const Number n = add(decode(x[0], f), decode(x[1], f), rounding(o));
  return rounded(o, n, f, {x[0], x[1]});
}

uint64_t difference(const Operation& o, const Codes& x, const Format& f) {
  const Number n = add(decode(x[0], f), decode(negate(x[1], f), f), rounding(o));
  return rounded(o, n, f, {x[0], x[1]});
}

uint64_t product(const Operation& o, const Codes& x, const Format& f) {
  return rounded(o, multiply(decode(x[0], f), decode(x[1], f)), f, {x[0], x[1]});
}

uint64_t fused(const Operation& o, const Codes& x, const Format& f) {
  const Number n = add(multiply(decode(x[0], f), decode(x[1], f)), decode(x[2], f), rounding(o));
  return rounded(o, n, f, {x[0], x[1], x[2]});
}

uint64_t quotient(const Operation& o, const Codes& x, const Format& f) {
  return rounded(o, divide(decode(x[0], f), decode(x[1], f)), f, {x[0], x[1]});
}

uint64_t reciprocal(const Operation& o, const Codes& x, const Format& f) {
  return rounded(o, divide(from_integer(false, 1), decode(x[0], f)), f, {x[0]});
}

uint64_t root(const Operation& o, const Codes& x, const Format& f) {
  return rounded(o, square_root(decode(x[0], f)), f, {x[0]});
}

uint64_t absolute(const Operation&, const Codes& x, const Format& f) { return x[0] & (sign_bit(f) - 1); }
uint64_t negative(const Operation&, const Codes& x, const Format& f) { return negate(x[0], f); }

uint64_t min_max(const Operation& o, const Codes& x, const Format& f, bool max) {
  const bool magnitudes = o.has(Mod::abs);
  const uint64_t strip = magnitudes ? sign_bit(f) - 1 : ~uint64_t{0};
  const uint64_t r = min_max_codes(x[0] & strip, x[1] & strip, f, max, o.has(Mod::NaN), false);
  if (!o.has(Mod::xorsign) || is_nan(r, f)) return r;
  return r | ((x[0] ^ x[1]) & sign_bit(f));
}

// Applies f to each element of operands 1, 2, 3, inputs flushed on .ftz.
template <auto kFunction>
void elements(Operation& o) {
  const Format& f = format_of(o.type());
  const auto width = static_cast<uint32_t>(total_bits(f));
  Bits d = 0;
  for (int k = 0; k < lanes_of(o.type()); ++k) {
    const uint32_t at = width * static_cast<uint32_t>(k);
    Codes x;
    for (int n = 0; n < 3; ++n) x[n] = input(o, static_cast<uint64_t>(low(o.in[n + 1][0] >> at, width)), f);
    d |= Bits{kFunction(o, x, f)} << at;
  }
  o.out[0][0] = d;
}

// f32 with half operands: exact when widened. The first `halves` operands are of the second type.
template <auto kFunction, int kHalves>
void mixed(Operation& o) {
  const Format& h = format_of(o.type(1));
  Codes x = {};
  for (int n = 0; n < 3; ++n) x[n] = static_cast<uint64_t>(low(o.in[n + 1][0], n < kHalves ? 16 : 32));
  for (int n = 0; n < kHalves; ++n) x[n] = encode(decode(x[n], h), kF32, Rounding::nearest_even);
  o.out[0][0] = kFunction(o, x, kF32);
}

uint64_t smallest(const Operation& o, const Codes& x, const Format& f) { return min_max(o, x, f, false); }
uint64_t largest(const Operation& o, const Codes& x, const Format& f) { return min_max(o, x, f, true); }

template <bool kMax>
uint64_t of_three(const Operation& o, const Codes& x, const Format& f) {
  const Codes rest = {min_max(o, x, f, kMax), x[2], 0};
  return min_max(o, rest, f, kMax);
}

void copysign(Operation& o) {
  const Format& f = format_of(o.type());
  o.out[0][0] = (o.in[1][0] & sign_bit(f)) | (o.in[2][0] & (sign_bit(f) - 1));
}

void testp(Operation& o) {
  const Format& f = format_of(o.type());
  const auto code = static_cast<uint64_t>(o.in[1][0]);
  const Number n = decode(code, f);
  bool p = false;
  if (o.has(Mod::finite)) p = n.kind == Kind::finite;
  if (o.has(Mod::infinite)) p = n.kind == Kind::infinity;
  if (o.has(Mod::number)) p = n.kind != Kind::nan;
  if (o.has(Mod::notanumber)) p = n.kind == Kind::nan;
  if (o.has(Mod::normal)) p = n.kind == Kind::finite && !n.is_zero() && !is_subnormal(code, f);
  if (o.has(Mod::subnormal)) p = is_subnormal(code, f);
  o.out[0][0] = p;
}

// Approximations: the host's double function, rounded once

double to_double(uint64_t code, const Format& f) {
  return std::bit_cast<double>(encode(decode(code, f), kF64, Rounding::nearest_even));
}

uint64_t approximate(const Operation& o, double value, const Format& f) {
  const auto code = std::bit_cast<uint64_t>(value);
  return finish(o, encode(decode(code, kF64), f, Rounding::nearest_even), f);
}

template <double (*kFunction)(double)>
uint64_t host(const Operation& o, const Codes& x, const Format& f) {
  return approximate(o, kFunction(to_double(x[0], f)), f);
}

double inverse_root(double x) { return 1.0 / std::sqrt(x); }

// 2^126 < |b| < 2^128: the reciprocal would be subnormal, and the result is a * 0.
uint64_t divided_approx(const Operation& o, const Codes& x, const Format& f) {
  const Number a = decode(x[0], f), b = decode(x[1], f);
  const uint64_t magnitude = x[1] & (sign_bit(f) - 1);
  if (a.kind != Kind::nan && b.kind == Kind::finite && magnitude > 0x7E80'0000) {
    if (a.kind == Kind::infinity) return f.nan;
    return (x[0] ^ x[1]) & sign_bit(f);
  }
  return quotient(o, x, f);
}

// Only the upper 32 bits of input and result count.
template <bool kRoot>
void coarse_double(Operation& o) {
  auto code = static_cast<uint64_t>(o.in[1][0]);
  const bool coarse = o.has(Mod::ftz);
  if (coarse) code = flush(code & 0xFFFF'FFFF'0000'0000, kF64);
  const auto x = std::bit_cast<double>(code);
  const bool invalid = is_nan(static_cast<uint64_t>(o.in[1][0]), kF64) || (kRoot && x < 0);
  const uint64_t r = invalid ? kF64.nan : std::bit_cast<uint64_t>(kRoot ? inverse_root(x) : 1.0 / x);
  o.out[0][0] = coarse ? flush(r & 0xFFFF'FFFF'0000'0000, kF64) : r;
}

}  // namespace

uint64_t add_codes(uint64_t a, uint64_t b, const Format& f, Rounding mode, bool ftz) {
  const uint64_t x = ftz ? flush(a, f) : a, y = ftz ? flush(b, f) : b;
  const Number n = add(decode(x, f), decode(y, f), mode);
  if (n.kind == Kind::nan) return nan_of(f, {x, y});
  const uint64_t r = encode(n, f, mode);
  return ftz ? flush(r, f) : r;
}

uint64_t min_max_codes(uint64_t a, uint64_t b, const Format& f, bool max, bool nan_wins, bool ftz) {
  const uint64_t x = ftz ? flush(a, f) : a, y = ftz ? flush(b, f) : b;
  const bool x_nan = is_nan(x, f), y_nan = is_nan(y, f);
  if ((x_nan && y_nan) || (nan_wins && (x_nan || y_nan))) return f.nan;
  if (x_nan) return y;
  if (y_nan) return x;
  const Number m = decode(x, f), n = decode(y, f);
  int order = compare(m, n);
  if (order == 0) order = (n.negative ? 1 : 0) - (m.negative ? 1 : 0);  // -0 < +0
  return (order < 0) == max ? y : x;
}

Evaluate float_evaluator(Form form) {
  switch (form) {
    case Form::testp:
      return testp;
    case Form::copysign:
      return copysign;
    case Form::add_float:
    case Form::add_float_x2:
    case Form::add_half:
      return elements<sum>;
    case Form::sub_float:
    case Form::sub_float_x2:
    case Form::sub_half:
      return elements<difference>;
    case Form::mul_float:
    case Form::mul_float_x2:
    case Form::mul_half:
      return elements<product>;
    case Form::fma_float:
    case Form::fma_float_x2:
    case Form::mad_float:
    case Form::fma_half:
      return elements<fused>;
    case Form::add_mixed:
      return mixed<sum, 1>;
    case Form::sub_mixed:
      return mixed<difference, 1>;
    case Form::fma_mixed:
      return mixed<fused, 2>;
    case Form::div_float:
    case Form::div_full:
      return elements<quotient>;
    case Form::div_approx:
      return elements<divided_approx>;
    case Form::abs_float:
    case Form::abs_half:
      return elements<absolute>;
    case Form::neg_float:
    case Form::neg_half:
      return elements<negative>;
    case Form::min_float:
    case Form::min_half:
      return elements<smallest>;
    case Form::max_float:
    case Form::max_half:
      return elements<largest>;
    case Form::min3_float:
      return elements<of_three<false>>;
    case Form::max3_float:
      return elements<of_three<true>>;
    case Form::rcp_approx:
    case Form::rcp_float:
      return elements<reciprocal>;
    case Form::sqrt_approx:
    case Form::sqrt_float:
      return elements<root>;
    case Form::rcp_approx_f64:
      return coarse_double<false>;
    case Form::rsqrt_approx_f64:
      return coarse_double<true>;
    case Form::rsqrt_approx:
      return elements<host<inverse_root>>;
    case Form::sin_approx:
      return elements<host<std::sin>>;
    case Form::cos_approx:
      return elements<host<std::cos>>;
    case Form::lg2_approx:
      return elements<host<std::log2>>;
    case Form::ex2_approx:
    case Form::ex2_half:
      return elements<host<std::exp2>>;
    case Form::tanh_approx:
    case Form::tanh_half:
      return elements<host<std::tanh>>;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
