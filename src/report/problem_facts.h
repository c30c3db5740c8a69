#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/summary.h"

namespace fb::report {

// Reads what `fabricbench show --json` says. What is missing stays empty; what is no such JSON is an error.
Result<Problem> read_problem(std::string name, std::string_view json);

}  // namespace fb::report
