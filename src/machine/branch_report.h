#pragma once

// Which ways the branches of a module went, in words for a record.

#include <vector>

#include "machine/loaded_module.h"
#include "record/run_record.h"

namespace fb::machine {

// Empty where they are not counted (LoadOptions::count_branches).
std::vector<record::BranchWays> branches_of(const LoadedModule& module);

}  // namespace fb::machine
