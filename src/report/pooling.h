#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "record/campaign.h"

namespace fb::report {

// One model of the report: a label, and the runs whose samples are its own.
struct Pooled {
  std::string label = {};    // in the report
  std::string in_runs = {};  // in its runs
  std::vector<size_t> runs = {};
};

// The same label in runs with the same settings is one model; with different settings there is one for each, whose
// labels say which. In the order of the runs and of their plans. What a reader must know is added to `notes`.
std::vector<Pooled> pool(std::span<const record::Run> runs, std::vector<std::string>& notes);

// The run's name, or else its folder's.
std::string name_of(const record::Run& run);

}  // namespace fb::report
