#pragma once

#include <string>
#include <string_view>

#include "campaign/report/summary.h"
#include "common/base/result.h"

namespace fb::report {

// Reads the output of `fabricbench show --json`. Missing fields stay empty; any other JSON is an error.
Result<Problem> read_problem(std::string name, std::string_view json);

}  // namespace fb::report
