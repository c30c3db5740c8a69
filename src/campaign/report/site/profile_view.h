#pragma once

// Where the time of kernels goes, by line and cause: a table for each kernel, and shares beside the lines of code.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "campaign/report/site/code_view.h"
#include "campaign/report/site/html.h"
#include "common/record/profile.h"

namespace fb::report::site {

// A line of the answer that the page shows with its number; nothing: the page has no such line.
using AnswerLine = std::function<std::string_view(uint32_t line)>;

// Empty without a profile.
Html profile_view(const record::Profile& profile, const AnswerLine& line_of);

// Of each line its share of a kernel's time; of a line that several kernels have, the largest.
LineShares line_shares(const record::Profile& profile, const AnswerLine& line_of);

}  // namespace fb::report::site
