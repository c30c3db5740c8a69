// The slow engine: cvt and cvt.pack. NaNs follow the rules that virtual_node/num/half.h, virtual_node/num/convert.h and
// virtual_node/num/small_float.h state.

#include "virtual_node/simt/reference/reference_operation.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Type;

Rounding conversion_rounding(const Operation& o) {
  if (o.has(Mod::rz) || o.has(Mod::rzi)) return Rounding::zero;
  if (o.has(Mod::rm) || o.has(Mod::rmi)) return Rounding::down;
  if (o.has(Mod::rp) || o.has(Mod::rpi)) return Rounding::up;
  if (o.has(Mod::rna)) return Rounding::nearest_away;
  return Rounding::nearest_even;
}

bool rounds_to_integer(const Operation& o) {
  return o.has(Mod::rni) || o.has(Mod::rzi) || o.has(Mod::rmi) || o.has(Mod::rpi);
}

bool same(const Format& a, const Format& b) {
  return a.exponent_bits == b.exponent_bits && a.mantissa_bits == b.mantissa_bits;
}

uint64_t code_of(Bits value, const Format& f) {
  return static_cast<uint64_t>(low(value, static_cast<uint32_t>(total_bits(f))));
}

// .ftz concerns f32 alone.
uint64_t flush_f32(const Operation& o, uint64_t code, const Format& f) {
  return o.has(Mod::ftz) && same(f, kF32) ? flush(code, f) : code;
}

uint64_t clamp_result(const Operation& o, uint64_t code, const Format& f) {
  if (o.has(Mod::sat)) code = saturate(code, f);
  if (o.has(Mod::relu) && !is_nan(code, f) && (code & sign_bit(f)) != 0) code = 0;
  return code;
}

// A value of any format to the destination's, with all that the modifiers ask for.
uint64_t narrow(const Operation& o, uint64_t code, const Format& from, const Format& to, Rounding mode) {
  const Number n = decode(flush_f32(o, code, from), from);
  return clamp_result(o, flush_f32(o, encode(n, to, mode, o.has(Mod::satfinite)), to), to);
}

// Integers

void int_to_int(Operation& o) {
  const I128 value = as_integer(o.in[1][0], o.type(1));
  const I128 d = o.has(Mod::sat) ? clamp(value, least_of(o.type(0)), most_of(o.type(0))) : value;
  o.out[0][0] = static_cast<Bits>(as_integer(static_cast<Bits>(d), o.type(0)));
}

void int_to_float(Operation& o) {
  const I128 value = as_integer(o.in[1][0], o.type(1));
  const Number n = from_integer(value < 0, static_cast<Bits>(value < 0 ? -value : value));
  const Format& f = format_of(o.type(0));
  o.out[0][0] = clamp_result(o, encode(n, f, conversion_rounding(o)), f);
}

void float_to_int(Operation& o) {
  const Format& f = format_of(o.type(1));
  const Type to = o.type(0);
  const uint32_t bits = ptx::bits_of(to);
  const Number n = to_integral(decode(flush_f32(o, code_of(o.in[1][0], f), f), f), conversion_rounding(o));
  I128 value = 0;
  if (n.kind == Kind::nan) {
    const bool wide = o.type(1) == Type::f64 || bits == 64;
    value = wide ? as_integer(Bits{1} << (bits - 1), to) : 0;
  } else if (n.kind == Kind::infinity || (!n.is_zero() && n.m.width() + n.e > 100)) {
    value = n.negative ? least_of(to) : most_of(to);
  } else {
    const auto magnitude = static_cast<I128>(n.m.shift_left(n.e).lo);
    value = clamp(n.negative ? -magnitude : magnitude, least_of(to), most_of(to));
  }
  o.out[0][0] = static_cast<Bits>(value);
}

// Between floating-point formats

// The NaN `code` of one format in another.
uint64_t convert_nan(uint64_t code, const Format& from, const Format& to) {
  if (same(from, kBf16) && same(to, kF32)) return code << 16;  // a move of bits
  if (!same(to, kF64)) return to.nan;
  if (same(from, kF64)) return code | kQuiet64;
  // f64 keeps sign and payload, left-aligned. f16 comes by way of f32, where it has lost them.
  const uint64_t f32 = same(from, kF16) ? kF32.nan : same(from, kBf16) ? code << 16 : code;
  const uint64_t sign = (f32 & sign_bit(kF32)) != 0 ? sign_bit(kF64) : 0;
  return sign | uint64_t{0x7FF} << 52 | (f32 & 0x7F'FFFF) << 29 | kQuiet64;
}

void float_to_float(Operation& o) {
  const Format &from = format_of(o.type(1)), &to = format_of(o.type(0));
  const uint64_t code = code_of(o.in[1][0], from);
  if (is_nan(code, from)) {
    o.out[0][0] = clamp_result(o, convert_nan(code, from, to), to);
    return;
  }
  if (!rounds_to_integer(o)) {
    o.out[0][0] = narrow(o, code, from, to, conversion_rounding(o));
    return;
  }
  const Number n = to_integral(decode(flush_f32(o, code, from), from), conversion_rounding(o));
  o.out[0][0] = clamp_result(o, flush_f32(o, encode(n, to, Rounding::nearest_even), to), to);
}

void to_tf32(Operation& o) {
  const auto code = code_of(o.in[1][0], kF32);
  if (is_nan(code, kF32)) {
    o.out[0][0] = 0x7FFF'FFFF;
    return;
  }
  o.out[0][0] = Bits{narrow(o, code, kF32, kTf32, conversion_rounding(o))} << 13;
}

// Pairs: a goes to the upper part, b to the lower

// Bits that one element of a packed type occupies.
uint32_t packed_bits(Type packed) { return ptx::bits_of(packed) / 2; }

void pack_pair(Operation& o) {
  const Format& f = format_of(o.type(0));
  const uint32_t at = packed_bits(o.type(0));
  const auto one = [&](int k) { return Bits{narrow(o, code_of(o.in[k][0], kF32), kF32, f, conversion_rounding(o))}; };
  o.out[0][0] = one(1) << at | one(2);
}

void pair_to_pair(Operation& o) {
  const Format &from = format_of(o.type(1)), &to = format_of(o.type(0));
  for (uint32_t k = 0; k < 2; ++k) {
    const uint64_t code = code_of(o.in[1][0] >> (packed_bits(o.type(1)) * k), from);
    o.out[0][0] |= Bits{narrow(o, code, from, to, conversion_rounding(o))} << (packed_bits(o.type(0)) * k);
  }
}

// ue8m0: 2^(code - 127) for the codes 0 … 254; the sign is ignored, zero becomes the smallest value.
uint64_t to_ue8m0(const Operation& o, uint64_t code, const Format& from) {
  const Number n = decode(code, from);
  if (n.kind == Kind::nan) return 0xFF;
  if (n.kind == Kind::infinity) return o.has(Mod::satfinite) ? 0xFE : 0xFF;
  if (n.is_zero()) return 0;
  int exponent = n.m.width() - 1 + n.e;
  if (o.has(Mod::rp) && n.m.any_below(n.m.width() - 1)) ++exponent;
  if (exponent < -127) return 0;
  if (exponent > 127) return o.has(Mod::satfinite) ? 0xFE : 0xFF;
  return static_cast<uint64_t>(int64_t{exponent} + 127);
}

void pack_ue8m0(Operation& o) {
  o.out[0][0] = Bits{to_ue8m0(o, code_of(o.in[1][0], kF32), kF32)} << 8 | to_ue8m0(o, code_of(o.in[2][0], kF32), kF32);
}

void bf16_to_ue8m0(Operation& o) {
  for (uint32_t k = 0; k < 2; ++k) {
    o.out[0][0] |= Bits{to_ue8m0(o, code_of(o.in[1][0] >> (16 * k), kBf16), kBf16)} << (8 * k);
  }
}

void ue8m0_to_bf16(Operation& o) {
  for (uint32_t k = 0; k < 2; ++k) {
    const auto code = static_cast<int>(o.in[1][0] >> (8 * k) & 0xFF);
    const Number n{Kind::finite, false, {0, 1}, code - 127};
    o.out[0][0] |= Bits{code == 0xFF ? kBf16.nan : encode(n, kBf16, Rounding::zero)} << (16 * k);
  }
}

Bits clamped(Bits value, Type to) {
  return low(static_cast<Bits>(clamp(as_signed(value, 32), least_of(to), most_of(to))), ptx::bits_of(to));
}

void pack_int16(Operation& o) { o.out[0][0] = clamped(o.in[1][0], o.type(0)) << 16 | clamped(o.in[2][0], o.type(0)); }

void pack_int8(Operation& o) {
  o.out[0][0] = low(o.in[3][0], 16) << 16 | clamped(o.in[1][0], o.type(0)) << 8 | clamped(o.in[2][0], o.type(0));
}

}  // namespace

Evaluate convert_evaluator(Form form) {
  switch (form) {
    case Form::cvt_int_to_int:
      return int_to_int;
    case Form::cvt_int_to_float:
      return int_to_float;
    case Form::cvt_float_to_int:
      return float_to_int;
    case Form::cvt_float_to_float:
      return float_to_float;
    case Form::cvt_tf32:
      return to_tf32;
    case Form::cvt_pack_half:
    case Form::cvt_pack_fp8:
    case Form::cvt_pack_fp6:
    case Form::cvt_pack_fp4:
      return pack_pair;
    case Form::cvt_half_to_fp8:
    case Form::cvt_half_to_fp6:
    case Form::cvt_half_to_fp4:
    case Form::cvt_fp8_to_half:
    case Form::cvt_fp6_to_half:
    case Form::cvt_fp4_to_half:
      return pair_to_pair;
    case Form::cvt_pack_ue8m0:
      return pack_ue8m0;
    case Form::cvt_bf16_to_ue8m0:
      return bf16_to_ue8m0;
    case Form::cvt_ue8m0_to_bf16:
      return ue8m0_to_bf16;
    case Form::cvt_pack_int16:
      return pack_int16;
    case Form::cvt_pack_int8:
      return pack_int8;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
