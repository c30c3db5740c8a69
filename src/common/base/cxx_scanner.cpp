#include "common/base/cxx_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace fb {
namespace {

bool is_letter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool is_prefix(std::string_view word) { return word == "u8" || word == "u" || word == "U" || word == "L"; }
bool is_raw_prefix(std::string_view word) {
  return word.ends_with('R') && (word.size() == 1 || is_prefix(word.substr(0, word.size() - 1)));
}

size_t after(std::string_view code, std::string_view mark, size_t from) {
  const size_t found = code.find(mark, from);
  return found == std::string_view::npos ? code.size() : found + mark.size();
}

size_t end_of_word(std::string_view code, size_t at) {
  while (at < code.size() && is_letter(code[at])) ++at;
  return at;
}

// A separator stands between digits; an exponent may have a sign.
size_t end_of_number(std::string_view code, size_t at) {
  const bool hexadecimal = code.substr(at).starts_with("0x") || code.substr(at).starts_with("0X");
  const std::string_view exponents = hexadecimal ? "pP" : "eE";
  for (size_t i = at; i < code.size(); ++i) {
    const char c = code[i];
    const bool separator = c == '\'' && i + 1 < code.size() && is_letter(code[i + 1]);
    const bool sign = (c == '+' || c == '-') && exponents.contains(code[i - 1]);
    if (!is_letter(c) && c != '.' && !separator && !sign) return i;
  }
  return code.size();
}

// `quote` is the offset of the opening one.
size_t end_of_literal(std::string_view code, size_t quote) {
  for (size_t i = quote + 1; i < code.size() && code[i] != '\n'; ++i) {
    if (code[i] == '\\') {
      ++i;  // a newline, too: it continues the line
    } else if (code[i] == code[quote]) {
      return i + 1;
    }
  }
  return std::min(code.find('\n', quote), code.size());
}

size_t end_of_raw_string(std::string_view code, size_t quote) {
  constexpr size_t kLongestDelimiter = 16;
  const size_t open = code.find('(', quote);
  if (open == std::string_view::npos || open - quote - 1 > kLongestDelimiter) return end_of_literal(code, quote);
  const std::string close = fmt::format("){}\"", code.substr(quote + 1, open - quote - 1));
  return after(code, close, open + 1);
}

// 0: no comment begins here.
size_t end_of_comment(std::string_view code, size_t at) {
  const std::string_view rest = code.substr(at);
  if (rest.starts_with("//")) return std::min(code.find('\n', at), code.size());
  return rest.starts_with("/*") ? after(code, "*/", at + 2) : 0;
}

CxxPiece word_or_literal(std::string_view code, size_t at) {
  const size_t end = end_of_word(code, at);
  const std::string_view word = code.substr(at, end - at);
  const char next = end < code.size() ? code[end] : ' ';
  if (next == '"' && is_raw_prefix(word)) return {CxxPiece::Kind::literal, at, end_of_raw_string(code, end)};
  if ((next == '"' || next == '\'') && is_prefix(word)) return {CxxPiece::Kind::literal, at, end_of_literal(code, end)};
  return {CxxPiece::Kind::word, at, end};
}

}  // namespace

CxxPiece piece_at(std::string_view code, size_t at) {
  using Kind = CxxPiece::Kind;
  const char c = code[at];
  if (is_blank(c)) {
    size_t end = at + 1;
    while (end < code.size() && is_blank(code[end])) ++end;
    return {Kind::blank, at, end};
  }
  if (const size_t end = end_of_comment(code, at)) return {Kind::comment, at, end};
  const bool in_prose = c == '\'' && at > 0 && is_letter(code[at - 1]);
  if (c == '"' || (c == '\'' && !in_prose)) return {Kind::literal, at, end_of_literal(code, at)};
  const bool starts_fraction = c == '.' && at + 1 < code.size() && is_digit(code[at + 1]);
  if (is_digit(c) || starts_fraction) return {Kind::number, at, end_of_number(code, at)};
  if (is_letter(c)) return word_or_literal(code, at);
  return {Kind::sign, at, at + 1};
}

}  // namespace fb
