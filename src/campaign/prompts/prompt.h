#pragma once

// Prompts for models. The texts are files in prompts/ (docs/guide/prompts.md); here they are filled with facts of a
// problem, its platform and a verdict. Nothing of the reference, oracle or variant of the problem gets in; references
// of other problems may serve as examples.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/attempt.h"
#include "judge/catalog/pack.h"

namespace fb::prompts {

struct Prompt {
  std::string system, user;
};

struct Options {
  std::string variant = "zero_shot";  // one of variants()
  bool worked_example = false;        // adds one solved problem, unless the variant has some
  size_t feedback_limit = 6000;       // bytes of a feedback prompt, at most
};

// Errors: an unknown variant, an invalid prompt file, an example that no pack has.
Result<Prompt> first_prompt(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options);

// The next message to a model after this attempt and its answer. An attempt that passed has one only `for_speed`.
// Contains neither the seed nor any value that is not in the verdict's explanation.
Result<std::string> feedback_prompt(const catalog::Problem& problem, const record::Attempt& attempt,
                                    std::string_view answer, const Options& options, bool for_speed);

// The names of the prompt variants, sorted.
std::vector<std::string> variants();

}  // namespace fb::prompts
