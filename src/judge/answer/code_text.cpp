#include "judge/answer/code_text.h"

#include <algorithm>
#include <array>

#include "common/base/cxx_scanner.h"
#include "common/base/strings.h"
#include "judge/catalog/markers.h"

namespace fb::judge {
namespace {

// The run of ` or ~ that a line begins with, if it is a fence.
std::string_view fence_of(std::string_view line) {
  line = trim(line);
  const size_t length = std::min(line.find_first_not_of('`'), line.size());
  if (length >= 3) return line.substr(0, length);
  const size_t waves = std::min(line.find_first_not_of('~'), line.size());
  return waves >= 3 ? line.substr(0, waves) : std::string_view();
}

// The words, numbers and signs of code, without comments and literals: "class", "Solution", "{".
std::vector<std::string_view> tokens_of(std::string_view code) {
  using Kind = CxxPiece::Kind;
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < code.size();) {
    const CxxPiece piece = piece_at(code, at);
    at = piece.end;
    if (piece.kind == Kind::word || piece.kind == Kind::number || piece.kind == Kind::sign)
      tokens.push_back(piece.text(code));
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
  const auto tokens = tokens_of(code);
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
