#pragma once

#include "base/result.h"
#include "catalog/problem.h"
#include "prompts/text_template.h"

namespace fb::prompts {

// The values of parts/machine.md for the problem's platform.
Result<Values> machine_facts(const catalog::Problem& problem);

}  // namespace fb::prompts
