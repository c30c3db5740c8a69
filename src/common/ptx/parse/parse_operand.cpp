#include <fmt/format.h>

#include "common/ptx/parse/module_parser.h"
#include "common/ptx/words.h"

namespace fb::ptx {

bool ModuleParser::parse_operand(Operand& operand) {
  if (token().is('[')) return parse_address(operand);
  if (token().is('{')) return parse_list(operand);
  return parse_element(operand);
}

// Anything that may stand in a list: no list and no address.
bool ModuleParser::parse_element(Operand& operand) {
  operand.at = token().at;
  if (token().kind == Token::Kind::name && token().text != "WARP_SZ") return parse_name_operand(operand);
  if (token().is('!')) {
    lexer_.advance();
    if (token().kind != Token::Kind::name) return fail_expected("a predicate");
    operand.negated = true;
    if (!parse_name_operand(operand)) return false;
    const bool predicate = operand.kind == OperandKind::reg && function_.registers[operand.index].type == Type::pred;
    return predicate || fail(operand.at, "only a predicate can be negated");
  }
  return parse_constant_operand(operand);
}

bool ModuleParser::parse_list(Operand& operand) {
  operand.at = token().at;
  operand.kind = OperandKind::vector;
  if (!expect('{')) return false;
  do {
    if (operand.elements.size() >= kMaxListElements) return fail_here("the list is too long");
    Operand element;
    if (!parse_element(element)) return false;
    if (element.kind == OperandKind::vector) return fail(element.at, "a vector register cannot stand in a list");
    operand.elements.push_back(std::move(element));
  } while (accept(','));
  return expect('}');
}

// [base], [base + 4], [base+-4], [4096], [map, {c0, c1}]
bool ModuleParser::parse_address(Operand& operand) {
  operand.at = token().at;
  operand.kind = OperandKind::address;
  if (!expect('[')) return false;
  Operand& base = operand.elements.emplace_back();
  if (!parse_element(base)) return false;
  if (base.negated) return fail(base.at, "an address cannot be negated");
  if (base.kind == OperandKind::symbol) {  // the offset belongs to the address, not to its base
    operand.bits = base.bits;
    base.bits = 0;
  } else if (token().is('+') || token().is('-')) {
    accept('+');  // a minus is the constant's own
    Constant offset;
    if (!parse_constant(offset)) return false;
    if (offset.kind != Constant::Kind::integer) return fail(operand.at, "an offset must be an integer");
    operand.bits = offset.bits;
  }
  if (accept(',')) {
    Operand coordinates;
    if (!parse_list(coordinates)) return false;
    operand.elements.push_back(std::move(coordinates));
  }
  return expect(']');
}

bool ModuleParser::parse_name_operand(Operand& operand) {
  if (token().text.front() == '%') {
    // Registers first: they are most of what is written.
    const Binding binding = scopes_.find(token().text);
    if (binding.kind == Binding::Kind::reg) {
      operand.kind = OperandKind::reg;
      operand.index = binding.index;
      lexer_.advance();
      return true;
    }
  }
  const std::string_view bare = token().text;
  lexer_.extend_component();
  const std::string_view name = token().text;
  lexer_.advance();
  if (name == "_") {
    operand.kind = OperandKind::sink;
    return true;
  }
  const Binding binding = scopes_.find(bare);
  if (binding.kind == Binding::Kind::reg_vector) {
    if (bare.size() == name.size()) {  // the whole vector
      operand.kind = OperandKind::vector;
      for (uint32_t i = 0; i < binding.count; ++i) {
        Operand& element = operand.elements.emplace_back();
        element.kind = OperandKind::reg;
        element.index = binding.index + i;
        element.at = operand.at;
      }
      return true;
    }
    constexpr std::string_view kComponents = "xyzwrgba";
    const auto which = name.size() == bare.size() + 2 ? kComponents.find(name.back()) : std::string_view::npos;
    if (which == std::string_view::npos || which % 4 >= binding.count) {
      return fail(operand.at, fmt::format("{} has no such component", bare));
    }
    operand.kind = OperandKind::reg;
    operand.index = binding.index + static_cast<uint32_t>(which % 4);
    return true;
  }
  if (const auto special = find_special_reg(name); special && binding.kind == Binding::Kind::none) {
    operand.kind = OperandKind::special;
    operand.index = static_cast<uint32_t>(*special);
    return true;
  }
  if (bare.size() != name.size()) return fail(operand.at, fmt::format("{} is not a register this machine knows", name));
  switch (binding.kind) {
    case Binding::Kind::reg:
      operand.kind = OperandKind::reg;
      operand.index = binding.index;
      return true;
    case Binding::Kind::variable:
      operand.kind = OperandKind::symbol;
      operand.in_function = true;
      operand.index = binding.index;
      return parse_offset(operand);
    case Binding::Kind::targets:
      operand.kind = OperandKind::target_list;
      operand.index = binding.index;
      return true;
    case Binding::Kind::none:
      if (const auto it = symbols_.find(name); it != symbols_.end()) {
        const bool variable = it->second.kind == Symbol::Kind::variable;
        operand.kind = variable ? OperandKind::symbol : OperandKind::function;
        operand.index = it->second.index;
        return parse_offset(operand);
      }
      if (find_special_reg(std::string(name) + ".x")) {
        return fail(operand.at, fmt::format("{} is a vector: name a component, such as {}.x", name, name));
      }
      break;
    default:
      break;
  }
  operand.kind = OperandKind::label;
  operand.index = static_cast<uint32_t>(written_.names.size());
  written_.names.push_back(name);
  return true;
}

// sym+8, sym+-8, sym-8
bool ModuleParser::parse_offset(Operand& symbol) {
  if (!token().is('+') && !token().is('-')) return true;
  const Location at = token().at;
  accept('+');
  Constant offset;
  if (!parse_constant(offset)) return false;
  if (offset.kind != Constant::Kind::integer) return fail(at, "an offset must be an integer");
  if (symbol.kind == OperandKind::function && offset.bits != 0) return fail(at, "a function has no offset");
  symbol.bits = offset.bits;
  return true;
}

bool ModuleParser::parse_constant_operand(Operand& operand) {
  Constant value;
  if (!parse_constant(value)) return false;
  switch (value.kind) {
    case Constant::Kind::integer:
      operand.kind = OperandKind::integer;
      break;
    case Constant::Kind::float32:
      operand.kind = OperandKind::float32;
      break;
    case Constant::Kind::float64:
      operand.kind = OperandKind::float64;
      break;
  }
  operand.bits = value.bits;
  return true;
}

}  // namespace fb::ptx
