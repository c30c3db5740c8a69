#pragma once

// Code in text that people and models write.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb::judge {

// A fenced block of Markdown: what stands between two lines of ``` or ~~~. One that is not closed goes to the end.
struct Fence {
  std::string text;  // whole lines
  uint32_t first_line = 0;
};
std::vector<Fence> find_fences(std::string_view text);

// Whether C++ code, outside comments and literals, has a definition of this class or struct.
bool defines_class(std::string_view code, std::string_view name);

// Whether the first line that is not blank could be C++ rather than prose.
bool begins_as_code(std::string_view text);

}  // namespace fb::judge
