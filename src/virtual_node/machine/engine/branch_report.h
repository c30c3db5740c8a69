#pragma once

// Which ways the branches of a module went, in words for a record.

#include <vector>

#include "common/record/run_record.h"
#include "virtual_node/machine/engine/loaded_module.h"

namespace fb::machine {

// Empty where they are not counted (LoadOptions::count_branches).
std::vector<record::BranchWays> branches_of(const LoadedModule& module);

}  // namespace fb::machine
