#pragma once

// Code on a page: with the numbers of its lines, what a verdict says about them, and what changed since the round
// before.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/site/html.h"

namespace fb::report::site {

// What is said about a line, by the line's number in the answer.
using LineNotes = std::map<uint32_t, std::vector<std::string>>;

// Lines of the answer that a text of the judge names ("solution.cu:17:10: …", "in f() at answer.md:17"), with what it
// says there. Files of the judge's own and headers are not the answer.
LineNotes mentioned_lines(std::string_view text);

// A short piece, without numbers.
Html code_block(std::string_view code);

// Line n has the id "L<n>", which begins at `first_line`.
Html code_view(std::string_view code, uint32_t first_line, const LineNotes& notes);

// Both texts as one, with the changes marked and long stretches without any left out.
// The first lines are those of the texts in their answers.
Html diff_view(std::string_view before, uint32_t before_first, std::string_view after, uint32_t after_first);

// A text of the judge, with links from "file:17" to line 17.
Html linked_text(std::string_view text, const LineNotes& notes);

}  // namespace fb::report::site
