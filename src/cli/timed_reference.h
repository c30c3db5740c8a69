#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/record/verdict.h"
#include "judge/catalog/pack.h"

namespace fb::cli {

// The timed calls of the pack's first problem's reference, and no others, with seed 1. `platform`: instead of the
// problem's own, or empty. `slower`: also on platforms on which one group of constants is slower by each of the
// factors. Errors: it does not pass.
Result<record::Verdict> time_reference(const catalog::Pack& pack, const std::string& platform,
                                       std::vector<double> slower = {});

}  // namespace fb::cli
