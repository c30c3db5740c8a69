#pragma once

// Spelling of names, and the nearest ones to a wrong one.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fb::catalog {

// A lower-case letter, then lower-case letters, digits and single underscores between them.
bool is_snake_case(std::string_view name);
// Lower-case letters and digits in groups joined by '-' or '_': a tag, a library.
bool is_label(std::string_view name);

// Why this can't be the name of a field of Args that expressions use; empty if it can.
std::string why_no_field(std::string_view name);

// Those of `known` that a writer of `word` may have meant, best first; at most three.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known);

// "", or "; did you mean 'a' or 'b'?".
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace fb::catalog
