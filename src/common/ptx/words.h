#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/ptx/module.h"

namespace fb::ptx {

// What a word after a dot is: a type, a state space, or one of the other modifiers.
struct Word {
  enum class Kind : uint8_t { type, space, mod };
  Kind kind{};
  uint16_t value = 0;

  Type type() const { return static_cast<Type>(value); }
  Space space() const { return static_cast<Space>(value); }
  Mod mod() const { return static_cast<Mod>(value); }
};

std::optional<Word> find_word(std::string_view spelling);
std::optional<Type> find_type(std::string_view spelling);
std::optional<SpecialReg> find_special_reg(std::string_view spelling);  // with the %

// The words of a GROUP of groups.def, separated by blanks; empty when there is no such group.
std::string_view find_group(std::string_view name);

// What an ALIAS of groups.def stands for: "barrier.aligned" for bar; empty when there is none.
std::string_view find_alias(std::string_view opcode);

}  // namespace fb::ptx
