#include "judge/catalog/markers.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/strings.h"

namespace fb::catalog {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

std::optional<Marker> marker_in(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("//")) return std::nullopt;
  line = trim(line.substr(2));
  if (line.size() < 2 || line.front() != '[' || line.back() != ']') return std::nullopt;
  line = trim(line.substr(1, line.size() - 2));
  const size_t colon = line.find(':');
  const std::string_view word = trim(line.substr(0, colon));
  const std::string_view name = colon == std::string_view::npos ? "" : trim(line.substr(colon + 1));
  if (!name.empty() && !is_name(name)) return std::nullopt;
  if (word == "solution") return Marker{Marker::Kind::open, name};
  if (word == "/solution") return Marker{Marker::Kind::close, name};
  if (word == "template" && name.empty()) return Marker{Marker::Kind::divide, {}};
  return std::nullopt;
}

std::string marker_text(std::string_view name) {
  return name.empty() ? "// [solution]" : fmt::format("// [solution: {}]", name);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  auto lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace fb::catalog
