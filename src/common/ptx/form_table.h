#pragma once

// forms.def compiled: what each syntax line allows, in a shape that matching, checking and printing can use.
// The notation is explained at the top of forms.def.

#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ptx/module.h"

namespace fb::ptx {

using TypeSet = std::bitset<64>;
using SpaceSet = std::bitset<8>;

// One dotted element of an opcode, in the manual's order.
struct OpcodePart {
  enum class Kind : uint8_t { mods, type, space };
  Kind kind = Kind::mods;
  bool optional = false;
  bool together = false;  // {.a.b}: all of `mods` or none; otherwise exactly one of them
  ModSet mods;
  TypeSet types;
  SpaceSet spaces;

  bool takes(Type type) const { return kind == Kind::type && types[static_cast<size_t>(type)]; }
  bool takes(Space space) const { return kind == Kind::space && spaces[static_cast<size_t>(space)]; }
};

enum class OperandRole : uint8_t {
  destination,
  predicate_destination,
  list_destination,
  source,
  any_source,  // also a special register, variable or function
  predicate_source,
  list_source,
  immediate,
  address,
  tensor_address,
  label,
  targets,
  anything,  // and any number of them
};

// How wide an operand must be.
struct Width {
  enum class Rule : uint8_t { slot, twice_slot, fixed, any };
  Rule rule = Rule::slot;
  uint8_t slot = 0;         // index of the type slot
  Type fixed = Type::none;  // for Rule::fixed
  bool or_wider = false;
};

struct OperandSpec {
  std::string_view name;
  OperandRole role = OperandRole::source;
  Width width;
  bool may_sink = false;
  bool may_negate = false;
  bool optional = false;
  bool paired = false;       // follows the previous operand after a "|"
  bool conditional = false;  // there exactly when one of `condition` is
  ModSet condition;
};

struct FormSpec {
  Form form{};
  std::string_view opcode;
  std::vector<OpcodePart> parts;
  std::vector<OperandSpec> operands;
  bool vectors = false;  // some .v2/.v4/.v8 may be given
};

// One syntax line; an error says what is wrong with the line (a mistake in forms.def).
Result<FormSpec> compile_syntax(Form form, std::string_view syntax);

const FormSpec& spec_of(Form form);
std::span<const FormSpec* const> forms_with_opcode(std::string_view opcode);

}  // namespace fb::ptx
