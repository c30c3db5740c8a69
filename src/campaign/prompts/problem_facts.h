#pragma once

// Facts of a problem's folder for a prompt. Markdown, without the last newline.

#include <string>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::prompts {

// Tensors, parameters, worlds, sizes, and what a call must move at least.
Result<std::string> describe_data(const catalog::Problem& problem);
// How exactly each output is compared.
std::string describe_tolerances(const catalog::Problem& problem);
std::string describe_rules(const catalog::Problem& problem);
// Those that solutions may call besides C++'s and CUDA's; empty if there is none.
std::string describe_libraries(const catalog::Problem& problem);
// "`// [solution]` and `// [/solution]`".
Result<std::string> describe_markers(const catalog::Problem& problem);

}  // namespace fb::prompts
