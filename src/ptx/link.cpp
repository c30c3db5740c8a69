#include "ptx/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fb::ptx {
namespace {

// From the driver's numbers to those of the whole.
struct Renumbering {
  uint32_t first_file = 0;
  uint32_t first_variable = 0;
  std::vector<uint32_t> functions = {};  // by number in the driver

  void apply(Operand& operand) const {
    if (operand.kind == OperandKind::function) operand.index = functions[operand.index];
    if (operand.kind == OperandKind::symbol && !operand.in_function) operand.index += first_variable;
    for (Operand& element : operand.elements) apply(element);
  }

  void apply(Variable& variable) const {
    for (Relocation& relocation : variable.relocations) apply(relocation.symbol);
  }

  void apply(Function& function) const {
    for (Variable& variable : function.variables) apply(variable);
    for (TargetList& list : function.target_lists) {
      for (uint32_t& target : list.functions) target = functions[target];
    }
    for (Instruction& inst : function.body) {
      if (inst.source.file != kNoIndex) inst.source.file += first_file;
      for (Operand& operand : inst.operands) apply(operand);
    }
  }
};

bool same_interface(const Function& a, const Function& b) {
  if (a.entry != b.entry || a.params != b.params || a.returns != b.returns) return false;
  for (uint32_t k = 0; k < a.params + a.returns; ++k) {
    if (a.variables[k].bytes != b.variables[k].bytes || a.variables[k].align != b.variables[k].align) return false;
  }
  return true;
}

}  // namespace

Result<Module> link(Module candidate, Module driver) {
  Renumbering numbers{.first_file = static_cast<uint32_t>(candidate.files.size()),
                      .first_variable = static_cast<uint32_t>(candidate.variables.size())};
  const auto own = static_cast<uint32_t>(candidate.functions.size());
  Errors errors;
  uint32_t next = own;
  for (const Function& function : driver.functions) {
    const auto found = std::ranges::find_if(
        candidate.functions, [&](const Function& f) { return f.defined && !f.entry && f.name == function.name; });
    const bool wanted = !function.defined && function.linkage == Linkage::external;
    if (!wanted || found == candidate.functions.end()) {
      numbers.functions.push_back(next++);
      continue;
    }
    if (!same_interface(*found, function))
      errors.list.push_back({found->at, fmt::format("{} has other parameters than its interface", function.name)});
    numbers.functions.push_back(static_cast<uint32_t>(found - candidate.functions.begin()));
  }
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  for (size_t k = 0; k < driver.functions.size(); ++k) {
    if (numbers.functions[k] < own) continue;
    numbers.apply(driver.functions[k]);
    driver.functions[k].of_driver = true;
    candidate.functions.push_back(std::move(driver.functions[k]));
  }
  for (Variable& variable : driver.variables) {
    numbers.apply(variable);
    variable.of_driver = true;
    candidate.variables.push_back(std::move(variable));
  }
  candidate.files.insert(candidate.files.end(), driver.files.begin(), driver.files.end());
  return candidate;
}

}  // namespace fb::ptx
