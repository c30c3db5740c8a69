#include "common/ptx/parse/constant.h"

namespace fb::ptx {

int precedence_of(ConstantOp op) {
  switch (op) {
    case ConstantOp::none:
      return 0;
    case ConstantOp::logical_or:
      return 1;
    case ConstantOp::logical_and:
      return 2;
    case ConstantOp::bit_or:
      return 3;
    case ConstantOp::bit_xor:
      return 4;
    case ConstantOp::bit_and:
      return 5;
    case ConstantOp::equal:
    case ConstantOp::not_equal:
      return 6;
    case ConstantOp::less:
    case ConstantOp::less_equal:
    case ConstantOp::greater:
    case ConstantOp::greater_equal:
      return 7;
    case ConstantOp::shift_left:
    case ConstantOp::shift_right:
      return 8;
    case ConstantOp::add:
    case ConstantOp::subtract:
      return 9;
    case ConstantOp::multiply:
    case ConstantOp::divide:
    case ConstantOp::remainder:
      return 10;
  }
  return 0;
}

namespace {

// INT64_MIN / -1 overflows; the wrapped result is what two's complement hardware would store.
uint64_t divide_signed(int64_t a, int64_t b) {
  return b == -1 ? uint64_t{0} - static_cast<uint64_t>(a) : static_cast<uint64_t>(a / b);
}

uint64_t remainder_signed(int64_t a, int64_t b) { return b == -1 ? 0 : static_cast<uint64_t>(a % b); }

uint64_t shift_right(uint64_t a, uint64_t by, bool is_unsigned) {
  if (is_unsigned) return by > 63 ? 0 : a >> by;
  return static_cast<uint64_t>(static_cast<int64_t>(a) >> (by > 63 ? 63 : by));
}

}  // namespace

bool apply(ConstantOp op, Constant& left, const Constant& right) {
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  const uint64_t a = left.bits, b = right.bits;
  const auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  uint64_t result = 0;
  switch (op) {
    case ConstantOp::none:
      return true;
    case ConstantOp::multiply:
      result = a * b;
      break;
    case ConstantOp::divide:
      if (b == 0) return false;
      result = is_unsigned ? a / b : divide_signed(sa, sb);
      break;
    case ConstantOp::remainder:
      if (b == 0) return false;
      result = is_unsigned ? a % b : remainder_signed(sa, sb);
      break;
    case ConstantOp::add:
      result = a + b;
      break;
    case ConstantOp::subtract:
      result = a - b;
      break;
    case ConstantOp::shift_left:
      result = b > 63 ? 0 : a << b;
      break;
    case ConstantOp::shift_right:
      result = shift_right(a, b, left.is_unsigned);
      break;
    case ConstantOp::less:
      result = is_unsigned ? a < b : sa < sb;
      break;
    case ConstantOp::less_equal:
      result = is_unsigned ? a <= b : sa <= sb;
      break;
    case ConstantOp::greater:
      result = is_unsigned ? a > b : sa > sb;
      break;
    case ConstantOp::greater_equal:
      result = is_unsigned ? a >= b : sa >= sb;
      break;
    case ConstantOp::equal:
      result = a == b;
      break;
    case ConstantOp::not_equal:
      result = a != b;
      break;
    case ConstantOp::bit_and:
      result = a & b;
      break;
    case ConstantOp::bit_xor:
      result = a ^ b;
      break;
    case ConstantOp::bit_or:
      result = a | b;
      break;
    case ConstantOp::logical_and:
      result = a != 0 && b != 0;
      break;
    case ConstantOp::logical_or:
      result = a != 0 || b != 0;
      break;
  }
  left.bits = result;
  left.is_unsigned = is_unsigned;
  return true;
}

}  // namespace fb::ptx
