#pragma once

// Locates the tables of providers and prices.

#include <string>

#include "common/base/result.h"

namespace fb::llm {

// In $FABRICBENCH_DATA, else beside the program, else in the source tree it was built from.
Result<std::string> find_data_file(const std::string& name);

}  // namespace fb::llm
