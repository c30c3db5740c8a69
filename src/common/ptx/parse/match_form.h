#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/ptx/form_table.h"

namespace fb::ptx {

// An opcode as written ("ld.global.v4.f32") held against the table. Forms that share a spelling (mov, mov_pack) are
// distinguished later, by their operands.
struct OpcodeMatch {
  std::vector<const FormSpec*> forms;
  ModSet mods;
  std::vector<Type> types;
  std::vector<Space> spaces;
  std::string problem;  // why `forms` is empty
};

OpcodeMatch match_opcode(std::string_view opcode);

}  // namespace fb::ptx
