#pragma once

// Code on a page, with line numbers, the verdict's messages about lines, and the changes since the previous round.
// The bundle code.js adds the colours.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "campaign/report/site/html.h"

namespace fb::report::site {

// Messages about lines, by the line's number in the answer.
using LineNotes = std::map<uint32_t, std::vector<std::string>>;

// Shares of a kernel's time, by the line's number in the answer.
using LineShares = std::map<uint32_t, double>;

// Lines of the answer that a text of the judge names ("solution.cu:17:10: …", "in f() at answer.md:17"), with the
// message. The judge's own files and headers do not count.
LineNotes mentioned_lines(std::string_view text);

// A short piece of code, without line numbers.
Html code_block(std::string_view code);

// The lines are numbered from `first_line`; line n has the id "L<n>". Where there are `shares`, they have a column.
Html code_view(std::string_view code, uint32_t first_line, const LineNotes& notes, const LineShares& shares = {});

// A unified diff; long unchanged stretches are left out. `before_first` and `after_first` are the line numbers of the
// texts in their answers.
Html diff_view(std::string_view before, uint32_t before_first, std::string_view after, uint32_t after_first);

// A text of the judge, with links from "file:17" to line 17.
Html linked_text(std::string_view text, const LineNotes& notes);

}  // namespace fb::report::site
