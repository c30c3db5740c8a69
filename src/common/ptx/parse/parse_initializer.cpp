#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "common/ptx/parse/module_parser.h"

namespace fb::ptx {

bool ModuleParser::parse_initializer(Variable& variable, const std::vector<uint64_t>& dimensions) {
  if (variable.space != Space::global && variable.space != Space::constant) {
    return fail_here(fmt::format("a .{} variable has no initial value", to_string(variable.space)));
  }
  if (dimensions.empty() && !token().is('{')) {
    if (!parse_init_value(variable, 0)) return false;
  } else if (!parse_init_list(variable, dimensions, 0, 0)) {
    return false;
  }
  for (const Relocation& relocation : variable.relocations) {
    if (relocation.bytes == 4 || relocation.bytes == 8) continue;
    return fail(variable.at, fmt::format("{}: an address takes 4 or 8 bytes", variable.name));
  }
  if (variable.unsized) {
    variable.unsized = false;
    variable.bytes = variable.init.size();
  }
  return reserve_init(variable, 0);
}

// Makes room for element `index`; a sized variable gets all its bytes at once.
bool ModuleParser::reserve_init(Variable& variable, uint64_t index) {
  const uint64_t element_bytes = bytes_of(variable.type);
  if (index > kMaxInitBytes / 16) return fail_here("too many initial values");
  const uint64_t end = (index + 1) * element_bytes;
  const uint64_t wanted = variable.unsized ? end : variable.bytes;
  if (!variable.unsized && end > variable.bytes && variable.bytes > 0) return fail_here("too many initial values");
  if (wanted <= variable.init.size()) return true;
  total_init_bytes_ += wanted - variable.init.size();
  if (total_init_bytes_ > kMaxInitBytes) return fail_here("the initial values are too large");
  variable.init.resize(wanted);
  return true;
}

// { … } of dimension `level`, whose first element has the flat index `first`.
bool ModuleParser::parse_init_list(Variable& variable, const std::vector<uint64_t>& dimensions, size_t level,
                                   uint64_t first) {
  if (!expect('{')) return false;
  uint64_t stride = 1;
  for (size_t i = level + 1; i < dimensions.size(); ++i) stride *= dimensions[i];
  uint64_t index = first;
  while (!token().is('}')) {
    if (token().is('{')) {
      if (level + 1 >= dimensions.size()) return fail_here("more braces than dimensions");
      if (!parse_init_list(variable, dimensions, level + 1, index)) return false;
      index += stride;
    } else {
      if (!parse_init_value(variable, index)) return false;
      ++index;
    }
    if (!accept(',')) break;
  }
  if (variable.unsized && level == 0 && index > first && !reserve_init(variable, index - 1)) return false;
  return expect('}');
}

// A number, an address (sym+4, generic(sym), a function), or one byte of an address: 0xFF00(sym).
bool ModuleParser::parse_init_value(Variable& variable, uint64_t index) {
  const Location at = token().at;
  if (!reserve_init(variable, index)) return false;
  if (index * bytes_of(variable.type) >= variable.init.size()) return fail(at, "too many initial values");
  Relocation relocation;
  relocation.offset = index * bytes_of(variable.type);
  relocation.bytes = bytes_of(variable.type);
  if (token().kind == Token::Kind::name && token().text != "WARP_SZ") {
    if (token().text == "mask") {
      lexer_.advance();
      if (!expect('(')) return false;
      if (!parse_init_symbol(relocation) || !expect(')')) return false;
    } else if (!parse_init_symbol(relocation)) {
      return false;
    }
    variable.relocations.push_back(std::move(relocation));
    return true;
  }
  Constant value;
  if (!parse_constant(value)) return false;
  if (!token().is('(')) return store_init(variable, index, value, at);
  lexer_.advance();
  if (!parse_init_symbol(relocation) || !expect(')')) return false;
  return add_masked_byte(variable, index, value.bits, relocation, at);
}

// sym, sym+4, generic(sym)+4
bool ModuleParser::parse_init_symbol(Relocation& relocation) {
  if (token().kind == Token::Kind::name && token().text == "generic") {
    lexer_.advance();
    relocation.generic = true;
    if (!expect('(') || !parse_symbol_reference(relocation.symbol) || !expect(')')) return false;
    return parse_offset(relocation.symbol);
  }
  return parse_symbol_reference(relocation.symbol);
}

bool ModuleParser::parse_symbol_reference(Operand& operand) {
  operand.at = token().at;
  std::string_view name;
  if (!take_name(name)) return false;
  const auto it = symbols_.find(name);
  if (it == symbols_.end()) return fail(operand.at, fmt::format("{} is not declared", name));
  const bool variable = it->second.kind == Symbol::Kind::variable;
  operand.kind = variable ? OperandKind::symbol : OperandKind::function;
  operand.index = it->second.index;
  return parse_offset(operand);
}

// Byte arrays hold addresses byte by byte: 0xFF(s), 0xFF00(s), … Joined here into one relocation.
bool ModuleParser::add_masked_byte(Variable& variable, uint64_t index, uint64_t mask, const Relocation& part,
                                   Location at) {
  uint32_t byte = 0;
  while (byte < 8 && mask != uint64_t{0xFF} << (8 * byte)) ++byte;
  if (byte == 8 || bytes_of(variable.type) != 1) return fail(at, "a mask selects one byte, for an element of one byte");
  if (byte == 0) {
    variable.relocations.push_back(part);
    return true;
  }
  if (variable.relocations.empty()) return fail(at, "the lower bytes of this address are missing");
  Relocation& whole = variable.relocations.back();
  const bool same = whole.offset + whole.bytes == index && whole.bytes == byte && whole.generic == part.generic &&
                    whole.symbol.kind == part.symbol.kind && whole.symbol.index == part.symbol.index &&
                    whole.symbol.bits == part.symbol.bits;
  if (!same) return fail(at, "the lower bytes of this address are missing");
  ++whole.bytes;
  return true;
}

bool ModuleParser::store_init(Variable& variable, uint64_t index, const Constant& value, Location at) {
  const auto as_double = [&value] {
    switch (value.kind) {
      case Constant::Kind::float64:
        return std::bit_cast<double>(value.bits);
      case Constant::Kind::float32:
        return double{std::bit_cast<float>(static_cast<uint32_t>(value.bits))};
      case Constant::Kind::integer:
        break;
    }
    return value.is_unsigned ? static_cast<double>(value.bits) : static_cast<double>(static_cast<int64_t>(value.bits));
  };
  uint64_t bits = value.bits;
  if (variable.type == Type::f32) {
    // A pattern stays as it is: a NaN's payload would not survive the way through double.
    bits =
        value.kind == Constant::Kind::float32 ? value.bits : std::bit_cast<uint32_t>(static_cast<float>(as_double()));
  } else if (variable.type == Type::f64) {
    bits = std::bit_cast<uint64_t>(as_double());
  } else if (value.kind != Constant::Kind::integer) {
    const uint32_t width = value.kind == Constant::Kind::float32 ? 4 : 8;
    if (bytes_of(variable.type) != width) return fail(at, "a floating-point value of another width");
  }
  const uint32_t bytes = bytes_of(variable.type);
  std::memcpy(variable.init.data() + index * bytes, &bits, bytes < 8 ? bytes : 8);
  return true;
}

}  // namespace fb::ptx
