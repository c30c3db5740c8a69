#pragma once

// Where the tables of providers and prices lie.

#include <string>

#include "base/result.h"

namespace fb::llm {

// In $FABRICBENCH_DATA; or else beside the program, or in the source tree it was built from.
Result<std::string> find_data_file(const std::string& name);

}  // namespace fb::llm
