#include "campaign/prompts/quoted_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

#include "judge/catalog/markers.h"

namespace fb::prompts {
namespace {

constexpr uint32_t kAround = 2;
constexpr size_t kLongestLine = 300;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_in_path(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._+-/").contains(c);
}

// The line number that begins at `at`; nothing if the next character shows that it is another kind of number.
std::optional<uint32_t> number_at(std::string_view text, size_t at) {
  uint32_t number = 0;
  const auto [end, failed] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (failed != std::errc() || number == 0) return std::nullopt;
  const std::string_view rest(end, text.data() + text.size());
  const bool ends = rest.empty() || (!is_in_path(rest[0]) || (rest[0] == '.' && (rest.size() == 1 || rest[1] == ' ')));
  return ends ? std::optional(number) : std::nullopt;
}

// The file name that ends before `end`, without folders; it has an extension of letters.
std::string file_before(std::string_view line, size_t end) {
  size_t begin = end;
  while (begin > 0 && is_in_path(line[begin - 1])) --begin;
  std::string_view name = line.substr(begin, end - begin);
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return "";
  return std::isalpha(static_cast<unsigned char>(name[dot + 1])) != 0 ? std::string(name) : "";
}

}  // namespace

std::vector<Mention> mentions_in(std::string_view text) {
  std::vector<Mention> found;
  const auto add = [&](std::string file, uint32_t line) {
    Mention mention{std::move(file), line};
    if (std::ranges::find(found, mention) == found.end()) found.push_back(std::move(mention));
  };
  for (const std::string_view line : catalog::lines_of(text)) {
    if (!line.empty() && is_digit(line[0])) {
      const size_t colon = line.find(':');
      const size_t second = colon == std::string_view::npos ? colon : line.find(": ", colon + 1);
      const auto number = number_at(line, 0);
      if (number && second != std::string_view::npos && number_at(line, colon + 1)) add("", *number);
    }
    for (size_t colon = line.find(':'); colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
      if (colon + 1 >= line.size() || !is_digit(line[colon + 1])) continue;
      std::string file = file_before(line, colon);
      const auto number = number_at(line, colon + 1);
      if (!file.empty() && number) add(std::move(file), *number);
    }
  }
  return found;
}

std::string quote_lines(std::string_view source, const std::vector<uint32_t>& lines) {
  const auto all = catalog::lines_of(source);
  std::set<uint32_t> shown;
  for (const uint32_t line : lines) {
    if (line == 0 || line > all.size()) continue;
    const uint32_t first = line > kAround ? line - kAround : 1;
    for (uint32_t k = first; k <= std::min<size_t>(line + kAround, all.size()); ++k) shown.insert(k);
  }
  std::string text;
  uint32_t before = 0;
  for (const uint32_t k : shown) {
    if (before != 0 && k != before + 1) text += "       ...\n";
    before = k;
    const std::string_view content = all[k - 1];
    const bool named = std::ranges::find(lines, k) != lines.end();
    text += fmt::format(
        "{} {:>4} | {}\n", named ? ">" : " ", k,
        content.size() <= kLongestLine ? std::string(content) : fmt::format("(a line of {} bytes)", content.size()));
  }
  return text;
}

}  // namespace fb::prompts
