#include "common/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "common/base/installed.h"
#include "common/base/numbers.h"

namespace fb {
namespace {

struct Span {
  char32_t first, last;
};
constexpr auto kCombining = std::to_array<Span>({{0x0300, 0x036F},
                                                 {0x1AB0, 0x1AFF},
                                                 {0x1DC0, 0x1DFF},
                                                 {0x200B, 0x200F},
                                                 {0x20D0, 0x20FF},
                                                 {0xFE00, 0xFE0F},
                                                 {0xFE20, 0xFE2F}});
constexpr auto kWide = std::to_array<Span>({{0x1100, 0x115F},
                                            {0x2E80, 0x303E},
                                            {0x3041, 0x4DBF},
                                            {0x4E00, 0xA4CF},
                                            {0xA960, 0xA97F},
                                            {0xAC00, 0xD7A3},
                                            {0xF900, 0xFAFF},
                                            {0xFE30, 0xFE6F},
                                            {0xFF00, 0xFF60},
                                            {0xFFE0, 0xFFE6},
                                            {0x1F300, 0x1F64F},
                                            {0x1F900, 0x1F9FF},
                                            {0x20000, 0x3FFFD}});

bool is_in(std::span<const Span> spans, char32_t character) {
  return std::ranges::any_of(spans, [&](const Span& s) { return s.first <= character && character <= s.last; });
}

struct Character {
  size_t bytes = 1, columns = 1;
};

// The first one of a text that is not empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t bytes = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
  if (bytes <= 1 || bytes > text.size()) return {};
  char32_t value = lead & (0x7Fu >> bytes);
  for (size_t k = 1; k < bytes; ++k) {
    const auto next = static_cast<uint8_t>(text[k]);
    if ((next & 0xC0) != 0x80) return {};
    value = value << 6 | (next & 0x3F);
  }
  return {.bytes = bytes, .columns = is_in(kCombining, value) ? 0u : is_in(kWide, value) ? 2u : 1u};
}

}  // namespace

std::optional<size_t> terminal_columns(int descriptor) {
  if (isatty(descriptor) == 0) return std::nullopt;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  constexpr size_t kUsual = 80;
  const auto stated = as_number<size_t>(environment("COLUMNS"));
  return stated && *stated > 0 ? *stated : kUsual;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character first = first_character(text);
    columns += first.columns;
    text.remove_prefix(first.bytes);
  }
  return columns;
}

std::string cut_to_columns(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  size_t used = 0, bytes = 0;
  while (true) {
    const Character next = first_character(text.substr(bytes));
    if (used + next.columns > columns - 1) break;
    used += next.columns;
    bytes += next.bytes;
  }
  std::string cut(text.substr(0, bytes));
  cut.resize(cut.find_last_not_of(' ') + 1);
  return cut + "…";
}

std::string pad_to_columns(std::string_view text, size_t columns) {
  const size_t used = columns_of(text);
  return std::string(text) + std::string(columns > used ? columns - used : 0, ' ');
}

}  // namespace fb
