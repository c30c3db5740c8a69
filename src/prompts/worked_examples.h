#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "catalog/pack.h"

namespace fb::prompts {

// This many solved problems, as Markdown: those of prompts/examples.txt that are not the asked one, first those of
// other categories. They are looked for in its pack, then in the one that came with the program.
Result<std::string> worked_examples(const catalog::Pack& pack, const catalog::Problem& asked, size_t count);

}  // namespace fb::prompts
