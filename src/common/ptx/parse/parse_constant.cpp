#include <bit>

#include "common/ptx/parse/module_parser.h"

namespace fb::ptx {

bool ModuleParser::parse_constant(Constant& value) { return parse_conditional(value, 0); }

bool ModuleParser::parse_conditional(Constant& value, int depth) {
  if (depth > kMaxExpressionDepth) return fail_here("the expression is nested too deeply");
  if (!parse_binary(value, 1, depth)) return false;
  if (!accept('?')) return true;
  Constant yes, no;
  if (!parse_conditional(yes, depth + 1) || !expect(':') || !parse_conditional(no, depth + 1)) return false;
  value = value.bits != 0 ? yes : no;
  return true;
}

// Takes an operator that binds at least as tightly as asked. Two-character operators are two tokens here.
ConstantOp ModuleParser::take_operator(int min_precedence) {
  if (token().kind != Token::Kind::punct) return ConstantOp::none;
  ConstantOp op = ConstantOp::none;
  char second = '\0';
  switch (token().text.front()) {
    case '*':
      op = ConstantOp::multiply;
      break;
    case '/':
      op = ConstantOp::divide;
      break;
    case '%':
      op = ConstantOp::remainder;
      break;
    case '+':
      op = ConstantOp::add;
      break;
    case '-':
      op = ConstantOp::subtract;
      break;
    case '^':
      op = ConstantOp::bit_xor;
      break;
    case '<':
      op = ConstantOp::less;
      second = '<';
      break;
    case '>':
      op = ConstantOp::greater;
      second = '>';
      break;
    case '&':
      op = ConstantOp::bit_and;
      second = '&';
      break;
    case '|':
      op = ConstantOp::bit_or;
      second = '|';
      break;
    case '=':
      op = ConstantOp::equal;
      second = '=';
      break;
    case '!':
      op = ConstantOp::not_equal;
      second = '=';
      break;
    default:
      return ConstantOp::none;
  }
  // Whether the two-character form is meant shows only after the first: all its readings bind tightly enough or none
  // does, except & and |, whose doubled forms bind less tightly and are accepted at the same precedence.
  if (precedence_of(op) < min_precedence) return ConstantOp::none;
  lexer_.advance();
  switch (op) {
    case ConstantOp::less:
      if (accept('<')) return ConstantOp::shift_left;
      return accept('=') ? ConstantOp::less_equal : op;
    case ConstantOp::greater:
      if (accept('>')) return ConstantOp::shift_right;
      return accept('=') ? ConstantOp::greater_equal : op;
    case ConstantOp::bit_and:
      return accept(second) ? ConstantOp::logical_and : op;
    case ConstantOp::bit_or:
      return accept(second) ? ConstantOp::logical_or : op;
    case ConstantOp::equal:
    case ConstantOp::not_equal:
      if (accept(second)) return op;
      fail_expected("=");
      return ConstantOp::none;
    default:
      return op;
  }
}

bool ModuleParser::parse_binary(Constant& value, int min_precedence, int depth) {
  if (depth > kMaxExpressionDepth) return fail_here("the expression is nested too deeply");
  if (!parse_unary(value, depth)) return false;
  while (value.kind == Constant::Kind::integer) {
    const Location at = token().at;
    const ConstantOp op = take_operator(min_precedence);
    if (op == ConstantOp::none) return true;
    Constant right;
    if (!parse_binary(right, precedence_of(op) + 1, depth + 1)) return false;
    if (right.kind != Constant::Kind::integer) return fail(at, "constant expressions are of integers");
    if (!apply(op, value, right)) return fail(at, "division by zero");
  }
  return true;
}

bool ModuleParser::parse_unary(Constant& value, int depth) {
  if (depth > kMaxExpressionDepth) return fail_here("the expression is nested too deeply");
  if (accept('+')) return parse_unary(value, depth + 1);
  if (token().is('-') || token().is('!') || token().is('~')) {
    const char op = token().text.front();
    lexer_.advance();
    if (!parse_unary(value, depth + 1)) return false;
    if (value.kind != Constant::Kind::integer) {
      if (op != '-') return fail_here("an integer operator on a floating-point value");
      value.bits ^= value.kind == Constant::Kind::float32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
    } else if (op == '-') {
      value.bits = uint64_t{0} - value.bits;
    } else {
      value.bits = op == '~' ? ~value.bits : uint64_t{value.bits == 0};
    }
    return true;
  }
  if (accept('(')) {
    if (token().kind == Token::Kind::directive) {  // a cast: (.s64) (.u64)
      if (!at_directive(".s64") && !at_directive(".u64")) return fail_expected(".s64 or .u64");
      const bool is_unsigned = at_directive(".u64");
      lexer_.advance();
      if (!expect(')') || !parse_unary(value, depth + 1)) return false;
      value.is_unsigned = is_unsigned;
      return true;
    }
    return parse_conditional(value, depth + 1) && expect(')');
  }
  value = {};
  switch (token().kind) {
    case Token::Kind::integer:
      value.is_unsigned = token().is_unsigned;
      break;
    case Token::Kind::float32:
      value.kind = Constant::Kind::float32;
      break;
    case Token::Kind::float64:
      value.kind = Constant::Kind::float64;
      break;
    case Token::Kind::name:
      if (token().text == "WARP_SZ") {
        value.bits = 32;
        lexer_.advance();
        return true;
      }
      [[fallthrough]];
    default:
      return fail_expected("a constant");
  }
  value.bits = token().value;
  lexer_.advance();
  return true;
}

}  // namespace fb::ptx
