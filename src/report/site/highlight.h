#pragma once

// CUDA C++ with its words in colours.

#include <string_view>
#include <vector>

#include "report/site/html.h"

namespace fb::report::site {

// One Html a line. Knows comments, literals, preprocessor lines and words; it never parses, so that broken code is as
// good as any.
std::vector<Html> highlight_lines(std::string_view code);

}  // namespace fb::report::site
