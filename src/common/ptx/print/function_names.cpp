#include "common/ptx/print/function_names.h"

#include <algorithm>

#include "common/base/check.h"

namespace fb::ptx {

NameSet collect_names(const Module& module) {
  NameSet names;
  for (const Variable& variable : module.variables) names.insert(variable.name);
  for (const Function& function : module.functions) names.insert(function.name);
  return names;
}

FunctionNames::FunctionNames(const NameSet& module_names, const Function& function)
    : module_names_(module_names), function_(function) {
  for (const Variable& variable : function.variables) variables_.push_back(make_unique(variable.name));
  for (const Register& reg : function.registers) registers_.push_back(make_unique(reg.name));
  for (const TargetList& list : function.target_lists) target_lists_.push_back(make_unique(list.name));
  for (const auto& [name, index] : function.labels) labels_.push_back(make_unique(name));
}

std::string FunctionNames::make_unique(const std::string& name) {
  if (!module_names_.contains(name) && taken_.insert(name).second) return name;
  for (uint32_t i = 1;; ++i) {
    std::string candidate = name + "_" + std::to_string(i);
    if (!module_names_.contains(candidate) && taken_.insert(candidate).second) return candidate;
  }
}

const std::string& FunctionNames::label_at(uint32_t body_index) const {
  // Labels come in text order, so their indices ascend.
  const auto it = std::ranges::lower_bound(function_.labels, body_index, {}, &std::pair<std::string, uint32_t>::second);
  FB_CHECK(it != function_.labels.end() && it->second == body_index, "a branch to a place without a label");
  return labels_[static_cast<size_t>(it - function_.labels.begin())];
}

}  // namespace fb::ptx
