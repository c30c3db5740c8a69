#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "campaign/report/summary.h"
#include "common/record/campaign.h"

namespace fb::report {

// Computes all figures of a model from the samples in its cells. `ks`: the values of k for pass@k.
void fill_model(std::span<const record::Run> runs, const std::vector<Problem>& problems,
                const std::vector<uint32_t>& ks, double good, Model& model);

}  // namespace fb::report
