#pragma once

#include "campaign/prompts/text_template.h"
#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::prompts {

// The values of parts/machine.md for the problem's platform.
Result<Values> machine_facts(const catalog::Problem& problem);

}  // namespace fb::prompts
