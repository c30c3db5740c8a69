#pragma once

#include <string>
#include <vector>

namespace fb::toolchain {

// A command line, or a part of one.
using Words = std::vector<std::string>;

inline void add(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

}  // namespace fb::toolchain
