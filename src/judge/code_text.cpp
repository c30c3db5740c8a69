#include "judge/code_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/strings.h"
#include "catalog/markers.h"

namespace fb::judge {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The run of ` or ~ that a line begins with, if it is a fence.
std::string_view fence_of(std::string_view line) {
  line = trim(line);
  const size_t length = std::min(line.find_first_not_of('`'), line.size());
  if (length >= 3) return line.substr(0, length);
  const size_t waves = std::min(line.find_first_not_of('~'), line.size());
  return waves >= 3 ? line.substr(0, waves) : std::string_view();
}

// Where the comment or the literal that begins at `at` ends; `at` itself if none begins there.
size_t skip(std::string_view code, size_t at) {
  const std::string_view rest = code.substr(at);
  if (rest.starts_with("//")) return std::min(code.find('\n', at), code.size());
  if (rest.starts_with("/*")) {
    const size_t end = code.find("*/", at + 2);
    return end == std::string_view::npos ? code.size() : end + 2;
  }
  const char quote = rest[0];
  if (quote != '"' && (quote != '\'' || (at > 0 && is_word(code[at - 1])))) return at;
  for (size_t i = at + 1; i < code.size() && code[i] != '\n'; ++i) {
    if (code[i] == '\\') {
      ++i;
    } else if (code[i] == quote) {
      return i + 1;
    }
  }
  return at + 1;
}

// Comments and literals become one blank each.
std::string without_comments(std::string_view code) {
  std::string out;
  for (size_t i = 0; i < code.size();) {
    const size_t end = skip(code, i);
    if (end == i) {
      out += code[i++];
    } else {
      out += ' ';
      i = end;
    }
  }
  return out;
}

// The words and signs of code: "class", "Solution", "{".
std::vector<std::string_view> tokens_of(std::string_view code) {
  std::vector<std::string_view> tokens;
  for (size_t i = 0; i < code.size();) {
    size_t end = i;
    while (end < code.size() && is_word(code[end])) ++end;
    if (end == i) ++end;
    if (const auto token = code.substr(i, end - i); !trim(token).empty()) tokens.push_back(token);
    i = end;
  }
  return tokens;
}

}  // namespace

std::vector<Fence> find_fences(std::string_view text) {
  std::vector<Fence> found;
  std::string opening;
  uint32_t number = 0;
  for (const auto line : catalog::lines_of(text)) {
    ++number;
    const std::string_view fence = fence_of(line);
    if (opening.empty()) {
      if (fence.empty()) continue;
      opening = fence;
      found.push_back({.text = "", .first_line = number + 1});
    } else if (fence.starts_with(opening) && trim(line).size() == fence.size()) {
      opening.clear();
    } else {
      found.back().text.append(line) += '\n';
    }
  }
  return found;
}

bool defines_class(std::string_view code, std::string_view name) {
  const std::string plain = without_comments(code);
  const auto tokens = tokens_of(plain);
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if ((tokens[i] != "class" && tokens[i] != "struct") || tokens[i + 1] != name) continue;
    const std::string_view next = tokens[i + 2];
    if (next == "{" || next == ":" || next == "final") return true;
  }
  return false;
}

bool begins_as_code(std::string_view text) {
  constexpr std::array kWords = {"#",        "//",         "/*",     "__",        "class ", "struct ",
                                 "using ",   "namespace ", "static", "constexpr", "const ", "inline ",
                                 "template", "typedef ",   "enum ",  "extern ",   "void ",  "int ",
                                 "auto ",    "union ",     "[[",     "alignas"};
  for (const auto line : catalog::lines_of(text)) {
    if (trim(line).empty()) continue;
    return std::ranges::any_of(kWords, [&](std::string_view word) { return trim(line).starts_with(word); });
  }
  return false;
}

}  // namespace fb::judge
