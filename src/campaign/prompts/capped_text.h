#pragma once

// Text of other authors inside a prompt.

#include <cstddef>
#include <string>
#include <string_view>

namespace fb::prompts {

// At most `most` bytes: whole lines from the beginning, then a line with the number of omitted lines. Empty if not even
// that line fits.
std::string cap_lines(std::string_view text, size_t most);

// The same for parts divided by blank lines (one for each waiting rank): each part gets an equal share while that is
// worth reading, and short parts leave their rest to the others.
std::string cap_parts(std::string_view text, size_t most);

// A code block of Markdown that no line of the text can end.
std::string fenced(std::string_view text, std::string_view language);

// Replaces invalid UTF-8 and control characters other than tab and newline by question marks; removes carriage returns.
std::string printable(std::string_view text);

}  // namespace fb::prompts
