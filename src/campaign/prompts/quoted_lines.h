#pragma once

// Quotes the source lines that a verdict names.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb::prompts {

struct Mention {
  std::string file;  // without folders; empty if the text names none
  uint32_t line = 0;
  friend bool operator==(const Mention&, const Mention&) = default;
};

// "file.cu:12", "file.cu:12:5", and "12:5:" at the beginning of a line; each location once, in the order of the text.
std::vector<Mention> mentions_in(std::string_view text);

// These lines of a source and a few around each, numbered; "> " marks those that were named. Lines outside of the
// source are left out; empty if none is left.
std::string quote_lines(std::string_view source, const std::vector<uint32_t>& lines);

}  // namespace fb::prompts
