#pragma once

#include <cstdint>

namespace fb::ptx {

// The value of a constant expression. PTX computes in 64 bits; one operand written with U makes a result unsigned.
struct Constant {
  enum class Kind : uint8_t { integer, float32, float64 };
  Kind kind = Kind::integer;
  bool is_unsigned = false;
  uint64_t bits = 0;
};

// Binary operators of constant expressions; two-character ones are named by their first character and a second.
enum class ConstantOp : uint8_t {
  none,
  multiply,
  divide,
  remainder,
  add,
  subtract,
  shift_left,
  shift_right,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  bit_and,
  bit_xor,
  bit_or,
  logical_and,
  logical_or,
};

// Tighter operators have higher numbers; 0 for none.
int precedence_of(ConstantOp op);

// False: a division by zero.
bool apply(ConstantOp op, Constant& left, const Constant& right);

}  // namespace fb::ptx
