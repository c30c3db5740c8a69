#pragma once

// A verdict names places in sources; a model wants to see them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb::prompts {

struct Mention {
  std::string file;  // without folders; empty where the text names none
  uint32_t line = 0;
  friend bool operator==(const Mention&, const Mention&) = default;
};

// "file.cu:12", "file.cu:12:5", and "12:5:" at the begin of a line; each place once, in the order of the text.
std::vector<Mention> mentions_in(std::string_view text);

// These lines of a source and a few around each, numbered; "> " marks those that were named. Lines that the source does
// not have are left out; empty if none is left.
std::string quote_lines(std::string_view source, const std::vector<uint32_t>& lines);

}  // namespace fb::prompts
