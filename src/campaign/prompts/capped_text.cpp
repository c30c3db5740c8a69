#include "campaign/prompts/capped_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "judge/catalog/markers.h"

namespace fb::prompts {
namespace {

std::string left_out(size_t lines) {
  return fmt::format("({} more line{} left out)\n", lines, lines == 1 ? " was" : "s were");
}

// The length in bytes of the UTF-8 character at the beginning; 0: invalid.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t k) { return static_cast<uint8_t>(text[k]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  for (size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and values beyond the last code point.
  const uint8_t second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return bytes;
}

}  // namespace

std::string cap_lines(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto lines = catalog::lines_of(text);
  std::string kept;
  size_t count = 0;
  while (count < lines.size() && kept.size() + lines[count].size() + 1 + left_out(lines.size()).size() <= most) {
    kept.append(lines[count++]) += '\n';
  }
  const std::string note = left_out(lines.size() - count);
  return kept.size() + note.size() <= most ? kept + note : "";
}

std::string cap_parts(std::string_view text, size_t most) {
  constexpr size_t kWorthReading = 300;
  if (text.size() <= most) return std::string(text);
  std::vector<std::string_view> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t blank = text.find("\n\n", at), end = blank == std::string_view::npos ? text.size() : blank + 2;
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  if (most / parts.size() < kWorthReading) return cap_lines(text, most);
  // Short parts first: the others share what they leave.
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t k) { return std::pair(parts[k].size(), k); });
  std::vector<std::string> capped(parts.size());
  for (size_t k = 0, left = most; k < order.size(); ++k) {
    std::string& part = capped[order[k]];
    part = cap_lines(parts[order[k]], left / (order.size() - k));
    left -= part.size();
  }
  std::string out;
  for (const std::string& part : capped) out += part;
  return out;
}

std::string fenced(std::string_view text, std::string_view language) {
  size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const bool ended = text.empty() || text.ends_with('\n');
  return fmt::format("{}{}\n{}{}{}", fence, language, text, ended ? "" : "\n", fence);
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    const char c = text[0];
    const bool control = bytes == 1 && (c == 0x7f || (c < 0x20 && c != '\t' && c != '\n'));
    if (bytes == 0 || control) {
      if (c != '\r') out += '?';
    } else {
      out.append(text.substr(0, bytes));
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

}  // namespace fb::prompts
