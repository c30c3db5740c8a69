#pragma once

// What changed from one text to another, by lines.

#include <cstdint>
#include <string_view>
#include <vector>

namespace fb::report::site {

struct DiffLine {
  enum class Kind : uint8_t { same, removed, added };
  Kind kind = Kind::same;
  uint32_t before = 0, after = 0;  // lines from 1; 0: not there
  friend bool operator==(const DiffLine&, const DiffLine&) = default;
};

// Myers' shortest script. Texts that differ in more than some thousand lines come out as removed and added as a whole,
// but for what is the same at both ends.
std::vector<DiffLine> diff_lines(const std::vector<std::string_view>& before,
                                 const std::vector<std::string_view>& after);

}  // namespace fb::report::site
