#pragma once

// `report --measured`: results of exported folders beside what the judge and the model of time say.

#include <span>
#include <string>
#include <vector>

#include "campaign/report/summary.h"
#include "common/base/result.h"
#include "common/record/campaign.h"

namespace fb::cli {

// A row for each size and solution. Errors: a file that can't be read, or that measured another task than the problem
// of its name has in this pack.
Result<std::vector<report::MeasuredTime>> read_measured(const std::vector<std::string>& files,
                                                        std::span<const record::Run> runs, const std::string& problems);

}  // namespace fb::cli
