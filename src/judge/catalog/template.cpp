#include <fmt/format.h>

#include <algorithm>

#include "common/base/strings.h"
#include "judge/catalog/markers.h"
#include "judge/catalog/source.h"

namespace fb::catalog {
namespace {

bool is_args_include(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return false;
  line = trim(line.substr(1));
  return line.starts_with("include") && trim(line.substr(7)).starts_with("\"args.h\"");
}

std::string args_comment(const Problem& problem) {
  std::string text;
  const std::string fields = args_struct(problem);
  for (const std::string_view line : lines_of(fields)) text += fmt::format("//   {}\n", line);
  return "// In args.h:\n" + text;
}

// The reference with its regions replaced.
std::string refill(const Problem& problem, std::span<const std::string> texts) {
  std::string out;
  size_t region = 0;
  bool inside = false, shown = false;
  for (const std::string_view line : lines_of(problem.reference)) {
    const auto marker = marker_in(line);
    if (inside && !(marker && marker->kind == Marker::Kind::close)) continue;
    inside = marker && marker->kind == Marker::Kind::open;
    out.append(line) += '\n';
    if (inside) out += texts[region++];
    if (!shown && is_args_include(line)) {
      out += args_comment(problem);
      shown = true;
    }
  }
  return out;
}

}  // namespace

Result<std::string> make_template(const Problem& problem) {
  const auto regions = regions_of(problem.reference);
  if (!regions) return std::unexpected(regions.error());
  std::vector<std::string> texts;
  for (const Region& region : *regions) {
    if (trim(region.placeholder).empty())
      return error("has no template: '// [template]' and lines that begin with '//| ' are missing", {region.line, 1});
    texts.push_back(region.placeholder);
  }
  return refill(problem, texts);
}

Result<std::string> splice(const Problem& problem, std::span<const std::pair<std::string, std::string>> region_texts) {
  const auto regions = regions_of(problem.reference);
  if (!regions) return std::unexpected(regions.error());
  Errors errors;
  for (const auto& [name, text] : region_texts) {
    if (std::ranges::find(*regions, name, &Region::name) == regions->end())
      errors.list.push_back({{}, fmt::format("there is no region '{}' in the template", marker_text(name))});
    if (std::ranges::any_of(split(text, '\n'), [](auto line) { return marker_in(line).has_value(); }))
      errors.list.push_back({{}, fmt::format("the text of '{}' holds a marker", marker_text(name))});
  }
  std::vector<std::string> texts;
  for (const Region& region : *regions) {
    const auto given = [&](const auto& pair) { return pair.first == region.name; };
    const auto count = std::ranges::count_if(region_texts, given);
    if (count != 1) {
      errors.list.push_back(
          {{}, fmt::format("the region '{}' is {}", marker_text(region.name), count == 0 ? "missing" : "given twice")});
      continue;
    }
    std::string text = std::ranges::find_if(region_texts, given)->second;
    if (!text.empty() && text.back() != '\n') text += '\n';
    texts.push_back(std::move(text));
  }
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return refill(problem, texts);
}

}  // namespace fb::catalog
