#include "campaign/report/site/html.h"

#include <cctype>
#include <cstdint>

namespace fb::report::site {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

struct Character {
  char32_t code = 0;
  size_t bytes = 0;  // 0: invalid UTF-8
};

Character decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

bool is_forbidden(char32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || (c & 0xfffe) == 0xfffe;
}

// Marks and overrides of direction, isolates, line and paragraph separators, byte order marks.
bool is_deceptive(char32_t c) {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
         c == 0xfeff;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const auto [code, bytes] = decode(text);
    const size_t taken = bytes == 0 ? 1 : bytes;
    switch (code) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (bytes == 0 || is_forbidden(code)) {
          // Carriage returns are dropped.
          if (code != '\r') out += kReplacement;
        } else if (is_deceptive(code)) {
          out += fmt::format("\u27e8U+{:04X}\u27e9", static_cast<uint32_t>(code));
        } else {
          out += text.substr(0, taken);
        }
    }
    text.remove_prefix(taken);
  }
  return out;
}

Html Html::data(std::string_view id, std::string_view json) {
  // In JSON these characters occur only within strings, where they may be escaped.
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      default:
        safe += c;
    }
  }
  return Html(fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", escape(id), safe));
}

std::string file_word(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const bool plain = (static_cast<uint8_t>(c) < 0x80 && std::isalnum(static_cast<uint8_t>(c)) != 0) || c == '_' ||
                       c == '-' || c == '+' || (c == '.' && !word.empty());
    word += plain ? std::string(1, c) : fmt::format("~{:02x}", static_cast<uint8_t>(c));
  }
  return word.empty() ? "~" : word;
}

}  // namespace fb::report::site
