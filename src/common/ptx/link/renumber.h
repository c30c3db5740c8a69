#pragma once

// From the numbers of one module to those of the module that it becomes a part of.

#include <cstdint>
#include <vector>

#include "common/ptx/module.h"

namespace fb::ptx {

struct Renumbering {
  uint32_t first_file = 0;
  std::vector<uint32_t> functions = {};  // by number in the part
  std::vector<uint32_t> variables = {};

  void apply(Operand& operand) const;
  void apply(Variable& variable) const;
  void apply(Function& function) const;
};

// Whether both take and return values of the same sizes.
bool same_interface(const Function& a, const Function& b);

}  // namespace fb::ptx
