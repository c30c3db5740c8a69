#pragma once

#include <cstddef>
#include <string>

#include "common/base/result.h"
#include "judge/catalog/pack.h"

namespace fb::prompts {

// `count` solved problems as Markdown, from prompts/examples.txt without the given one, other categories first. They
// are searched in its pack, then in the installed one.
Result<std::string> worked_examples(const catalog::Pack& pack, const catalog::Problem& asked, size_t count);

}  // namespace fb::prompts
