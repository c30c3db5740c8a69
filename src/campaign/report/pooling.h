#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/record/campaign.h"

namespace fb::report {

// One model of the report: a label, and the runs that its samples come from.
struct Pooled {
  std::string label = {};    // in the report
  std::string in_runs = {};  // in its runs
  std::vector<size_t> runs = {};
};

// The same label in runs with equal settings is one model; for different settings there is one model each, with a label
// that names the run. Ordered by run, then by the run's plan. Explanations for the reader are added to `notes`.
std::vector<Pooled> pool(std::span<const record::Run> runs, std::vector<std::string>& notes);

// The run's name, or else its folder's.
std::string name_of(const record::Run& run);

}  // namespace fb::report
