#pragma once

// The comments that divide a source into regions.

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fb::catalog {

struct Marker {
  enum class Kind : uint8_t { open, divide, close } kind = Kind::open;
  std::string_view name;
};

// "// [solution]", "// [solution: name]", "// [template]", "// [/solution]"; blanks do not matter.
std::optional<Marker> marker_in(std::string_view line);

// The marker that opens a region of this name.
std::string marker_text(std::string_view name);

// The lines of a text; the last one may have no newline.
std::vector<std::string_view> lines_of(std::string_view text);
// Those of a temporary would outlive it.
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> lines_of(Temporary&& text) = delete;

}  // namespace fb::catalog
