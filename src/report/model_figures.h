#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "record/campaign.h"
#include "report/summary.h"

namespace fb::report {

// All of a model that follows from the samples in its cells. `ks`: of pass@k.
void fill_model(std::span<const record::Run> runs, const std::vector<Problem>& problems,
                const std::vector<uint32_t>& ks, double good, Model& model);

}  // namespace fb::report
