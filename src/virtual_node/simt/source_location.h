#pragma once

// Where an instruction of guest code comes from, in words for reports.

#include <cstdint>
#include <string>
#include <vector>

namespace fb::simt {

// A line of CUDA C++ in a function.
struct SourceFrame {
  std::string file = {};
  uint32_t line = 0;
  std::string function = {};  // mangled
  friend bool operator==(const SourceFrame&, const SourceFrame&) = default;
};

// `file` and `line` are CUDA C++ where the PTX has a .loc; `ptx_line` is always set.
struct SourceLocation {
  std::string kernel = {};    // empty where only the program is known
  std::string function = {};  // the same as kernel unless it is a called function
  std::string file = {};
  uint32_t line = 0;
  uint32_t ptx_line = 0;
  std::string text = {};  // the instruction
  // Where `file:line` was inlined, the innermost call first; the function of each frame is the one that the call is in.
  // Only where the PTX says so. `function` is that of `file:line` then.
  std::vector<SourceFrame> inlined_at = {};
};

}  // namespace fb::simt
