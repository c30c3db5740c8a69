#pragma once

// The names nearest to a misspelt one.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fb {

// The names in `known` that a writer of `word` may have meant, best first; at most three.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known);

// "", or "; did you mean 'a' or 'b'?".
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace fb
