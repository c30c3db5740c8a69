#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "common/ptx/module.h"

namespace fb::ptx {

using NameSet = std::unordered_set<std::string>;

// The names of a module's variables and functions.
NameSet collect_names(const Module& module);

// The names under which a function's things are printed. Scopes are gone in a module, so names that several scopes used
// are made distinct, from each other and from the module's own. Both arguments must outlive this.
class FunctionNames {
 public:
  FunctionNames(const NameSet& module_names, const Function& function);

  const std::string& variable(uint32_t index) const { return variables_[index]; }
  const std::string& reg(uint32_t index) const { return registers_[index]; }
  const std::string& target_list(uint32_t index) const { return target_lists_[index]; }
  // The labels in the order of Function::labels.
  const std::string& label(size_t position) const { return labels_[position]; }
  // A label of the instruction.
  const std::string& label_at(uint32_t body_index) const;

 private:
  std::string make_unique(const std::string& name);

  const NameSet& module_names_;
  const Function& function_;
  NameSet taken_;
  std::vector<std::string> variables_, registers_, target_lists_, labels_;
};

}  // namespace fb::ptx
