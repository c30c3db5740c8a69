#include "common/ptx/link/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/ptx/link/renumber.h"

namespace fb::ptx {
Result<Module> link(Module candidate, Module driver) {
  Renumbering numbers{.first_file = static_cast<uint32_t>(candidate.files.size())};
  numbers.variables.resize(driver.variables.size());
  std::iota(numbers.variables.begin(), numbers.variables.end(), static_cast<uint32_t>(candidate.variables.size()));
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
