#include <fmt/format.h>

#include <bit>

#include "common/ptx/parse/module_parser.h"
#include "common/ptx/words.h"

namespace fb::ptx {

std::optional<Space> ModuleParser::at_space() const {
  if (at_directive(".global")) return Space::global;
  if (at_directive(".shared")) return Space::shared;
  if (at_directive(".local")) return Space::local;
  if (at_directive(".param")) return Space::param;
  if (at_directive(".const")) return Space::constant;
  return std::nullopt;
}

// After the space: [.align N] [.attribute(…)] [.v4] .type [.ptr [.space] [.align N]]
bool ModuleParser::parse_variable_head(VariableHead& head) {
  while (token().kind == Token::Kind::directive) {
    uint64_t align = 0;
    if (accept_directive(".align")) {
      if (!take_integer(align, 1u << 20, "an alignment")) return false;
      if (!std::has_single_bit(align)) return fail_here("an alignment is a power of two");
      head.align = static_cast<uint32_t>(align);
    } else if (accept_directive(".attribute")) {
      if (!parse_attribute()) return false;
    } else if (accept_directive(".v2")) {
      head.elements = 2;
    } else if (accept_directive(".v4")) {
      head.elements = 4;
    } else if (accept_directive(".ptr")) {  // what the pointer points to: no business of the variable
      if (at_space()) lexer_.advance();
      if (accept_directive(".align") && !take_integer(align, ~uint64_t{0}, "an alignment")) return false;
    } else if (const auto type = find_type(token().text.substr(1)); type && bits_of(*type) % 8 == 0) {
      head.type = *type;
      lexer_.advance();
    } else {
      return fail_here(fmt::format("{} is not a type of a variable", token().text));
    }
  }
  if (head.type == Type::none) return fail_expected("a type");
  return true;
}

bool ModuleParser::parse_attribute() { return skip_parentheses(); }

// name[2][3]; leaves a first dimension of 0 for "[]".
bool ModuleParser::parse_declarator(const VariableHead& head, Variable& variable, std::vector<uint64_t>& dimensions,
                                    std::string_view& name) {
  variable.at = token().at;
  if (!take_name(name)) return false;
  variable.name = name;
  variable.space = head.space;
  variable.linkage = head.linkage;
  variable.type = head.type;
  const uint32_t element_bytes = bytes_of(head.type) * head.elements;
  variable.align = head.align != 0 ? head.align : element_bytes;
  variable.bytes = element_bytes;
  if (!parse_dimensions(variable, dimensions)) return false;
  if (head.elements > 1) dimensions.push_back(head.elements);
  return true;
}

bool ModuleParser::parse_dimensions(Variable& variable, std::vector<uint64_t>& dimensions) {
  while (accept('[')) {
    const Location at = token().at;
    if (dimensions.size() >= kMaxDimensions) return fail_here("too many dimensions");
    if (accept(']')) {
      if (!dimensions.empty()) return fail(at, "only the first dimension may be left out");
      dimensions.push_back(0);
      variable.unsized = true;
      continue;
    }
    Constant size;
    if (!parse_constant(size)) return false;
    if (size.kind != Constant::Kind::integer) return fail(at, "an array size must be an integer");
    if (size.bits != 0 && variable.bytes > kMaxVariableBytes / size.bits) return fail(at, "the variable is too large");
    if (size.bits > kMaxVariableBytes) return fail(at, "the variable is too large");
    variable.bytes *= size.bits;
    dimensions.push_back(size.bits);
    if (!expect(']')) return false;
  }
  return true;
}

bool ModuleParser::parse_module_variables(VariableHead head) {
  if (head.space == Space::param) return fail_here("a .param variable belongs to a function");
  if (!parse_variable_head(head)) return false;
  do {
    Variable variable;
    std::vector<uint64_t> dimensions;
    std::string_view name;
    if (!parse_declarator(head, variable, dimensions, name)) return false;
    // The initialiser may refer to the variable itself, so its name comes first.
    const auto known = symbols_.find(name);
    if (accept('=')) {
      Variable declared = variable;
      declared.linkage = Linkage::external;
      if (known == symbols_.end() && !add_module_variable(std::move(declared), name)) return false;
      if (!parse_initializer(variable, dimensions)) return false;
    }
    if (variable.unsized) variable.bytes = 0;
    if (!add_module_variable(std::move(variable), name)) return false;
  } while (accept(','));
  return expect(';');
}

// A declaration (.extern) and a definition of one name are one variable.
bool ModuleParser::add_module_variable(Variable variable, std::string_view name) {
  const auto index = static_cast<uint32_t>(module_.variables.size());
  const auto [it, is_new] = symbols_.emplace(name, Symbol{Symbol::Kind::variable, index});
  if (is_new) {
    module_.variables.push_back(std::move(variable));
    return true;
  }
  const auto conflict = [&] { return fail(variable.at, fmt::format("{} is declared twice", name)); };
  if (it->second.kind != Symbol::Kind::variable) return conflict();
  Variable& known = module_.variables[it->second.index];
  if (known.space != variable.space) return conflict();
  if (variable.linkage == Linkage::external) return true;
  if (known.linkage != Linkage::external) return conflict();
  known = std::move(variable);
  return true;
}

}  // namespace fb::ptx
