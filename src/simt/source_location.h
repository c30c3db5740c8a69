#pragma once

// Where an instruction of guest code comes from, in words for reports.

#include <cstdint>
#include <string>

namespace fb::simt {

// `file` and `line` are CUDA C++ where the PTX has a .loc; `ptx_line` is always set.
struct SourceLocation {
  std::string kernel = {};    // empty where only the program is known
  std::string function = {};  // the same as kernel unless it is a called function
  std::string file = {};
  uint32_t line = 0;
  uint32_t ptx_line = 0;
  std::string text = {};  // the instruction
};

}  // namespace fb::simt
