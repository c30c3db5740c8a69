#pragma once

// One instruction in one lane, as the slow engine sees it: operands as bits, in the order of the form's syntax.

#include <cstdint>

#include "common/ptx/module.h"
#include "virtual_node/simt/reference/reference_number.h"

namespace fb::simt::reference {

using Bits = U128;

inline constexpr int kMaxOperands = 7;
inline constexpr int kMaxElements = 8;

struct Operation {
  const ptx::Instruction& inst;
  // What the registers hold, zero-extended; literals sign-extended; predicates 0 or 1, "!" already applied.
  Bits in[kMaxOperands][kMaxElements] = {};
  // What they shall hold: cut to the register's width when written.
  Bits out[kMaxOperands][kMaxElements] = {};
  bool carry = false;       // CC.CF, before and after
  int elements = 0;         // of the list operand of mov
  uint32_t block_rank = 0;  // of the block in its cluster
  uint32_t executing = 0;   // lanes, this one included

  ptx::Type type(size_t k = 0) const { return inst.type(k); }
  bool has(ptx::Mod mod) const { return inst.has(mod); }
};

// Null: the form is not computed lane by lane, or not at all.
using Evaluate = void (*)(Operation&);
Evaluate integer_evaluator(ptx::Form form);
Evaluate bits_evaluator(ptx::Form form);
Evaluate float_evaluator(ptx::Form form);
Evaluate compare_evaluator(ptx::Form form);
Evaluate convert_evaluator(ptx::Form form);
Evaluate address_evaluator(ptx::Form form);

// Reading bits as numbers

inline Bits low(Bits value, uint32_t bits) { return bits >= 128 ? value : value & ((Bits{1} << bits) - 1); }
inline uint32_t bits(const Operation& o) { return ptx::bits_of(o.type()); }
inline Bits raw(const Operation& o, int k) { return low(o.in[k][0], bits(o)); }

inline I128 as_signed(Bits value, uint32_t bits) {
  const Bits v = low(value, bits);
  const bool negative = (v >> (bits - 1) & 1) != 0;
  return static_cast<I128>(negative ? v | ~((Bits{1} << bits) - 1) : v);
}

inline bool is_signed(ptx::Type type) { return ptx::kind_of(type) == ptx::TypeKind::signed_int; }

// The value of an integer type, in 128 bits.
inline I128 as_integer(Bits value, ptx::Type type) {
  const uint32_t bits = ptx::bits_of(type);
  return is_signed(type) ? as_signed(value, bits) : static_cast<I128>(low(value, bits));
}

inline I128 clamp(I128 value, I128 least, I128 most) { return value < least ? least : value > most ? most : value; }
inline I128 least_of(ptx::Type type) { return is_signed(type) ? -(I128{1} << (ptx::bits_of(type) - 1)) : 0; }
inline I128 most_of(ptx::Type type) { return (I128{1} << (ptx::bits_of(type) - (is_signed(type) ? 1 : 0))) - 1; }

// The format of a scalar or packed floating type.
const Format& format_of(ptx::Type type);
// 2 for packed pairs, else 1.
int lanes_of(ptx::Type type);

// One floating-point operation, used by arithmetic and by atomics alike.
uint64_t add_codes(uint64_t a, uint64_t b, const Format& f, Rounding mode, bool ftz);
uint64_t min_max_codes(uint64_t a, uint64_t b, const Format& f, bool max, bool nan_wins, bool ftz);

}  // namespace fb::simt::reference
