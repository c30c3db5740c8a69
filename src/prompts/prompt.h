#pragma once

// What a model is asked. The words are files in prompts/ (docs/prompts.md); here they are filled with what a problem,
// its platform and a verdict say. Nothing of a reference, an oracle or a variant gets in, but for references of other
// problems that serve as examples.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/pack.h"
#include "record/attempt.h"

namespace fb::prompts {

struct Prompt {
  std::string system, user;
};

struct Options {
  std::string variant = "zero_shot";  // one of variants()
  bool worked_example = false;        // with one solved problem, where the variant has none anyway
  size_t feedback_limit = 6000;       // bytes of a feedback prompt, at most
};

// Errors: an unknown variant, a prompt file that is wrong, an example that no pack has.
Result<Prompt> first_prompt(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options);

// The next message to a model after this attempt, whose answer was `answer`. An attempt that passed has one only
// `for_speed`. Tells neither the seed nor any value that the verdict's explanation does not tell.
Result<std::string> feedback_prompt(const catalog::Problem& problem, const record::Attempt& attempt,
                                    std::string_view answer, const Options& options, bool for_speed);

// Names of the first prompts that there are, sorted.
std::vector<std::string> variants();

}  // namespace fb::prompts
