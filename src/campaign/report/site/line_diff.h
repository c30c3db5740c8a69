#pragma once

// The difference of two texts, by lines.

#include <cstdint>
#include <string_view>
#include <vector>

namespace fb::report::site {

struct DiffLine {
  enum class Kind : uint8_t { same, removed, added };
  Kind kind = Kind::same;
  uint32_t before = 0, after = 0;  // line numbers from 1; 0: not in this text
  friend bool operator==(const DiffLine&, const DiffLine&) = default;
};

// Myers' shortest edit script. For texts that differ in more than some thousand lines, all lines between the common
// beginning and the common end are removed and added.
std::vector<DiffLine> diff_lines(const std::vector<std::string_view>& before,
                                 const std::vector<std::string_view>& after);

}  // namespace fb::report::site
