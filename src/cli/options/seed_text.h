#pragma once

#include <string>

namespace fb::cli {

// A check for options that take a seed: empty, or what is wrong. Other spellings of numbers would replay something
// else.
std::string why_no_seed(const std::string& text);

}  // namespace fb::cli
