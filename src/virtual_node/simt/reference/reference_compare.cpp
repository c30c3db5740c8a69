// The slow engine: comparison and selection.

#include "virtual_node/simt/reference/reference_operation.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Type;

// How two values relate: -1, 0, 1; unordered when one is a NaN.
struct Relation {
  int order = 0;
  bool unordered = false;
};

bool holds(const Operation& o, Relation r) {
  if (o.has(Mod::num)) return !r.unordered;
  if (o.has(Mod::nan)) return r.unordered;
  const auto either = [&](Mod plain, Mod with_nan, bool truth) {
    if (o.has(plain)) return !r.unordered && truth;
    return o.has(with_nan) && (r.unordered || truth);
  };
  return either(Mod::eq, Mod::equ, r.order == 0) || either(Mod::ne, Mod::neu, r.order != 0) ||
         either(Mod::lt, Mod::ltu, r.order < 0) || either(Mod::le, Mod::leu, r.order <= 0) ||
         either(Mod::gt, Mod::gtu, r.order > 0) || either(Mod::ge, Mod::geu, r.order >= 0) ||
         (o.has(Mod::lo) && r.order < 0) || (o.has(Mod::ls) && r.order <= 0) || (o.has(Mod::hi) && r.order > 0) ||
         (o.has(Mod::hs) && r.order >= 0);
}

Relation relate_floats(const Operation& o, Bits a, Bits b, const Format& f) {
  const auto value = [&](Bits x) {
    const auto code = static_cast<uint64_t>(low(x, static_cast<uint32_t>(total_bits(f))));
    return decode(o.has(Mod::ftz) ? flush(code, f) : code, f);
  };
  const Number x = value(a), y = value(b);
  if (x.kind == Kind::nan || y.kind == Kind::nan) return {0, true};
  return {compare(x, y), false};
}

// The element `k` of operands `first` and `first + 1`, of the given type.
bool test(const Operation& o, Type type, int first, int k = 0) {
  const Bits a = o.in[first][0], b = o.in[first + 1][0];
  const auto kind = ptx::kind_of(type);
  if (kind == ptx::TypeKind::floating || kind == ptx::TypeKind::packed) {
    return holds(o, relate_floats(o, a >> (16 * k), b >> (16 * k), format_of(type)));
  }
  const I128 x = as_integer(a, type), y = as_integer(b, type);
  return holds(o, {x < y ? -1 : x > y ? 1 : 0, false});
}

bool combine(const Operation& o, bool truth, Bits with) {
  const bool c = with != 0;
  if (o.has(Mod::and_)) return truth && c;
  if (o.has(Mod::or_)) return truth || c;
  if (o.has(Mod::xor_)) return truth != c;
  return truth;
}

// p and q, then a, b, c.
void setp(Operation& o) {
  const bool truth = test(o, o.type(), 2);
  o.out[0][0] = combine(o, truth, o.in[4][0]);
  o.out[1][0] = combine(o, !truth, o.in[4][0]);
}

void setp_pair(Operation& o) {
  for (int k = 0; k < 2; ++k) o.out[k][0] = combine(o, test(o, o.type(), 2, k), o.in[4][0]);
}

// What "true" looks like in a destination element of `bits`.
Bits truth_value(Type type, uint32_t bits) {
  const auto kind = ptx::kind_of(type);
  if (kind == ptx::TypeKind::floating || kind == ptx::TypeKind::packed) {
    return encode(from_integer(false, 1), format_of(type), Rounding::zero);
  }
  return low(~Bits{0}, bits);
}

void set(Operation& o) {
  const int count = lanes_of(o.type(1));
  const uint32_t bits = ptx::bits_of(o.type(0)) / static_cast<uint32_t>(count);
  for (int k = 0; k < count; ++k) {
    if (!combine(o, test(o, o.type(1), 1, k), o.in[3][0])) continue;
    o.out[0][0] |= truth_value(o.type(0), bits) << (bits * static_cast<uint32_t>(k));
  }
}

void select_int(Operation& o) { o.out[0][0] = o.in[as_signed(o.in[3][0], 32) >= 0 ? 1 : 2][0]; }

void select_float(Operation& o) {
  const auto code = static_cast<uint64_t>(low(o.in[3][0], 32));
  const Number c = decode(o.has(Mod::ftz) ? flush(code, kF32) : code, kF32);
  const bool first = c.kind != Kind::nan && compare(c, from_integer(false, 0)) >= 0;
  o.out[0][0] = o.in[first ? 1 : 2][0];
}

}  // namespace

Evaluate compare_evaluator(Form form) {
  switch (form) {
    case Form::setp_int:
    case Form::setp_float:
    case Form::setp_half:
      return setp;
    case Form::setp_half_x2:
      return setp_pair;
    case Form::set_int:
    case Form::set_float:
    case Form::set_half:
      return set;
    case Form::slct_int:
      return select_int;
    case Form::slct_float:
      return select_float;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
