#pragma once

// Text of others inside a prompt.

#include <cstddef>
#include <string>
#include <string_view>

namespace fb::prompts {

// At most `most` bytes: whole lines from the beginning, then one that says how many are left out. Empty if not even
// that one has room.
std::string cap_lines(std::string_view text, size_t most);

// The same where parts are divided by blank lines, one for each rank that waits, say: all of them get an equal share
// while that is worth reading, and what short ones leave over goes to the others.
std::string cap_parts(std::string_view text, size_t most);

// A code block of Markdown that no line of the text can end.
std::string fenced(std::string_view text, std::string_view language);

// With a question mark for every byte that is no UTF-8 and every control character but tabs and ends of lines; carriage
// returns go.
std::string printable(std::string_view text);

}  // namespace fb::prompts
