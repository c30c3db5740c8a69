#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "judge/catalog/markers.h"
#include "judge/catalog/source.h"

namespace fb::catalog {
namespace {

// The text of a placeholder line, with its indentation; nothing for other lines.
std::optional<std::string> placeholder_of(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  if (!line.substr(begin).starts_with("//|")) return std::nullopt;
  std::string_view rest = line.substr(begin + 3);
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest.empty() ? "" : std::string(line.substr(0, begin)).append(rest);
}

class RegionReader {
 public:
  Result<std::vector<Region>> read(std::string_view source) {
    for (const std::string_view text : lines_of(source)) {
      ++line_;
      const auto marker = marker_in(text);
      if (!marker) {
        take(text);
      } else if (marker->kind == Marker::Kind::open) {
        open(marker->name);
      } else if (marker->kind == Marker::Kind::divide) {
        divide();
      } else {
        close(marker->name);
      }
    }
    if (inside_) complain(regions_.back().line, "is not closed: '// [/solution]' is missing");
    if (regions_.empty() && errors_.list.empty()) complain(0, "has no region: '// [solution]' is missing");
    if (!errors_.list.empty()) return std::unexpected(std::move(errors_));
    return std::move(regions_);
  }

 private:
  void complain(uint32_t line, std::string message) {
    errors_.list.push_back({{line, line == 0 ? 0u : 1u}, std::move(message)});
  }

  void open(std::string_view name) {
    if (inside_) {
      complain(line_, fmt::format("'{}' inside the region of line {}", marker_text(name), regions_.back().line));
      return;
    }
    const auto same = std::ranges::find(regions_, name, &Region::name);
    if (same != regions_.end())
      complain(line_, fmt::format("'{}' is in line {} already", marker_text(name), same->line));
    regions_.push_back({std::string(name), "", "", line_});
    inside_ = true;
    divided_ = false;
  }

  void divide() {
    if (!inside_) return complain(line_, "'// [template]' outside a region");
    if (divided_) return complain(line_, "a second '// [template]' in one region");
    divided_ = true;
  }

  void close(std::string_view name) {
    if (!inside_) return complain(line_, "'// [/solution]' closes nothing");
    if (!name.empty() && name != regions_.back().name)
      complain(line_, fmt::format("closes '{}', but '{}' is open", name, regions_.back().name));
    inside_ = false;
  }

  void take(std::string_view text) {
    if (!inside_) return;
    if (!divided_) {
      regions_.back().solution.append(text) += '\n';
      return;
    }
    const auto shown = placeholder_of(text);
    if (!shown) return complain(line_, "between '// [template]' and '// [/solution]' lines begin with '//| '");
    regions_.back().placeholder.append(*shown) += '\n';
  }

  std::vector<Region> regions_;
  Errors errors_;
  uint32_t line_ = 0;
  bool inside_ = false, divided_ = false;
};

}  // namespace

Result<std::vector<Region>> regions_of(std::string_view source) { return RegionReader().read(source); }

}  // namespace fb::catalog
