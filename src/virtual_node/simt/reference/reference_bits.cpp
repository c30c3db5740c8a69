// The slow engine: logic, shifts, moves of bits.

#include "virtual_node/simt/reference/reference_operation.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Mod;

// One bit at a time: the table's bit number abc.
Bits three_input_logic(Bits a, Bits b, Bits c, Bits table) {
  Bits d = 0;
  for (int k = 0; k < 32; ++k) {
    const auto row = static_cast<int>((a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1));
    d |= (table >> row & 1) << k;
  }
  return d;
}

void lop3_bool(Operation& o) {
  const Bits d = three_input_logic(o.in[2][0], o.in[3][0], o.in[4][0], o.in[5][0]);
  const bool any = d != 0, cond = o.in[6][0] != 0;
  o.out[0][0] = d;
  o.out[1][0] = o.has(Mod::and_) ? any && cond : any || cond;
}

void shl(Operation& o) {
  const auto n = static_cast<uint32_t>(o.in[2][0]);
  o.out[0][0] = n >= bits(o) ? 0 : raw(o, 1) << n;
}

void shr(Operation& o) {
  const auto n = static_cast<uint32_t>(o.in[2][0]);
  const I128 a = as_integer(o.in[1][0], o.type());
  o.out[0][0] = static_cast<Bits>(a >> (n >= bits(o) ? bits(o) : n));
}

// The 64-bit value b:a moved by n; its upper word to the left, its lower word to the right.
void shf(Operation& o) {
  const auto c = static_cast<uint32_t>(o.in[3][0]);
  const uint32_t n = o.has(Mod::wrap) ? c & 31 : c < 32 ? c : 32;
  const Bits both = low(o.in[2][0], 32) << 32 | low(o.in[1][0], 32);
  o.out[0][0] = o.has(Mod::l) ? low(both << n, 64) >> 32 : both >> n;
}

// Rows of the manual's table: for control 0 … 3 the source bytes of d.b3, d.b2, d.b1, d.b0.
struct PermuteMode {
  Mod mod;
  int bytes[4][4];
};
constexpr PermuteMode kPermuteModes[] = {
    {Mod::f4e, {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
    {Mod::b4e, {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
    {Mod::rc8, {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
    {Mod::ecl, {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
    {Mod::ecr, {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
    {Mod::rc16, {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}},
};

void prmt(Operation& o) {
  const Bits both = low(o.in[2][0], 32) << 32 | low(o.in[1][0], 32);
  const auto control = static_cast<uint32_t>(o.in[3][0]);
  const auto byte = [&](int k) { return both >> (8 * k) & 255; };
  Bits d = 0;
  for (const PermuteMode& mode : kPermuteModes) {
    if (!o.has(mode.mod)) continue;
    for (int k = 0; k < 4; ++k) d |= byte(mode.bytes[control & 3][3 - k]) << (8 * k);
    o.out[0][0] = d;
    return;
  }
  for (int k = 0; k < 4; ++k) {
    const uint32_t selector = control >> (4 * k) & 15;
    const Bits b = byte(static_cast<int>(selector & 7));
    d |= ((selector & 8) != 0 ? (b >= 128 ? Bits{255} : Bits{0}) : b) << (8 * k);
  }
  o.out[0][0] = d;
}

// The first element of a list is the lowest part.
void pack(Operation& o) {
  const uint32_t part = bits(o) / static_cast<uint32_t>(o.elements);
  for (int n = 0; n < o.elements; ++n) o.out[0][0] |= low(o.in[1][n], part) << (part * static_cast<uint32_t>(n));
}

void unpack(Operation& o) {
  const uint32_t part = bits(o) / static_cast<uint32_t>(o.elements);
  for (int n = 0; n < o.elements; ++n) o.out[0][n] = low(o.in[1][0] >> (part * static_cast<uint32_t>(n)), part);
}

}  // namespace

Evaluate bits_evaluator(Form form) {
  switch (form) {
    case Form::and_:
    case Form::and_pred:
      return [](Operation& o) { o.out[0][0] = o.in[1][0] & o.in[2][0]; };
    case Form::or_:
    case Form::or_pred:
      return [](Operation& o) { o.out[0][0] = o.in[1][0] | o.in[2][0]; };
    case Form::xor_:
    case Form::xor_pred:
      return [](Operation& o) { o.out[0][0] = o.in[1][0] ^ o.in[2][0]; };
    case Form::not_:
      return [](Operation& o) { o.out[0][0] = ~o.in[1][0]; };
    case Form::not_pred:
      return [](Operation& o) { o.out[0][0] = o.in[1][0] == 0; };
    case Form::cnot:
      return [](Operation& o) { o.out[0][0] = raw(o, 1) == 0; };
    case Form::lop3:
      return [](Operation& o) { o.out[0][0] = three_input_logic(o.in[1][0], o.in[2][0], o.in[3][0], o.in[4][0]); };
    case Form::lop3_bool:
      return lop3_bool;
    case Form::shl:
      return shl;
    case Form::shr_logical:
    case Form::shr_arithmetic:
      return shr;
    case Form::shf_l:
    case Form::shf_r:
      return shf;
    case Form::prmt:
      return prmt;
    case Form::mov:
      return [](Operation& o) { o.out[0][0] = o.in[1][0]; };
    case Form::mov_pack:
      return pack;
    case Form::mov_unpack:
      return unpack;
    case Form::selp:
      return [](Operation& o) { o.out[0][0] = o.in[o.in[3][0] != 0 ? 1 : 2][0]; };
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
