#pragma once

// Hashes of content, for caches, keys and records: 128 bits as 32 hexadecimal digits, the same on every machine.

#include <string>
#include <string_view>
#include <vector>

namespace fb {

inline constexpr size_t kContentHashLength = 32;

std::string hash_bytes(std::string_view bytes);
// Of a list: {"ab", "c"} and {"a", "bc"} differ.
std::string hash_words(const std::vector<std::string>& words);

}  // namespace fb
