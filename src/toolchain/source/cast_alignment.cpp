#include "toolchain/source/cast_alignment.h"

#include <algorithm>
#include <array>
#include <vector>

#include "toolchain/device/text_edits.h"

namespace fb::toolchain {
namespace {

bool is_any(const Tokens& tokens, size_t k, const auto& words) {
  return std::ranges::any_of(words, [&](const char* word) { return tokens.is(k, word); });
}

// The last token of the type between the brackets `open` and `close`, without qualifiers.
size_t last_of_type(const Tokens& tokens, size_t open, size_t close) {
  constexpr std::array<const char*, 4> kQualifiers = {"const", "volatile", "__restrict__", "__restrict"};
  size_t last = close - 1;
  while (last > open && is_any(tokens, last, kQualifiers)) --last;
  return last;
}

// reinterpret_cast<T*>(x), from its first token.
void edit_named_cast(const Tokens& tokens, size_t k, std::vector<TextEdit>& edits) {
  if (!tokens.is(k + 1, "<")) return;
  const auto behind = tokens.behind_angles(k + 1);
  if (!behind || !tokens.is(*behind, "(")) return;
  const size_t close = *behind - 1, end = tokens.closing(*behind);
  if (end >= tokens.size()) return;
  const size_t last = last_of_type(tokens, k, close);
  if (tokens.is(last, "*")) {
    edits.push_back({tokens[close + 1].end, 0, "+("});
    edits.push_back({tokens[end].begin, 0, ")"});
  } else if (tokens.is(last, "&") && !tokens.is(last - 1, "&")) {
    edits.push_back({tokens[k].begin, 0, "(*"});
    edits.push_back({tokens[last].begin, 1, "*"});
    edits.push_back({tokens[close + 1].end, 0, "+&("});
    edits.push_back({tokens[end].begin, 0, "))"});
  }
}

// "operator==", which ends at token `k`.
bool names_operator(const Tokens& tokens, size_t k) {
  constexpr size_t kLongest = 4;
  for (size_t back = 1; back <= kLongest && back <= k; ++back) {
    if (tokens.is_word(k - back)) return tokens.is(k - back, "operator");
  }
  return false;
}

// (T*)x or (T&)x, from its first token. A list of parameters looks alike: what stands around tells them apart.
void edit_c_cast(const Tokens& tokens, size_t k, std::vector<TextEdit>& edits) {
  // Before a cast stands an operator, an open bracket or one of these.
  constexpr std::array<const char*, 6> kBefore = {"return", "else", "case", "do", "co_return", "co_yield"};
  if (k == 0 || tokens.closes(k - 1) || tokens.is(k - 1, ">")) return;
  if ((tokens.is_word(k - 1) || tokens.is_literal(k - 1)) && !is_any(tokens, k - 1, kBefore)) return;
  if (!tokens.is_word(k + 1) || names_operator(tokens, k - 1)) return;
  const size_t close = tokens.closing(k);
  if (close + 1 >= tokens.size()) return;
  const size_t last = last_of_type(tokens, k, close);
  const bool reference = tokens.is(last, "&") && !tokens.is(last - 1, "&");
  if (!tokens.is(last, "*") && !reference) return;
  // Names, "::" and template arguments; nothing that an expression has.
  int angles = 0;
  for (size_t t = k + 1; t < last; ++t) {
    angles += tokens.is(t, "<") ? 1 : tokens.is(t, ">") ? -1 : 0;
    const bool of_type =
        tokens.is_word(t) || tokens.is(t, ":") || tokens.is(t, "*") || tokens.is(t, "<") || tokens.is(t, ">");
    if (!of_type && angles == 0) return;
  }
  constexpr std::array<const char*, 9> kNoOperand = {"const",    "volatile", "noexcept", "override",     "final",
                                                     "requires", "mutable",  "nullptr",  "__attribute__"};
  const size_t operand = close + 1;
  const bool word = tokens.is_word(operand) && !is_any(tokens, operand, kNoOperand);
  const bool sign = tokens.is(operand, "(") || tokens.is(operand, "*") ||
                    (tokens.is(operand, "&") && !tokens.is(operand + 1, "&") && !tokens.is(operand + 1, ";"));
  if (!word && !sign) return;
  if (reference) {
    edits.push_back({tokens[k].begin, 0, "*"});
    edits.push_back({tokens[last].begin, 1, "*"});
  }
  edits.push_back({tokens[close].end, 0, reference ? "+&" : "+"});
}

}  // namespace

std::string with_cast_alignment(std::string_view source) {
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (tokens.is(k, "reinterpret_cast")) edit_named_cast(tokens, k, edits);
    if (tokens.is(k, "(")) edit_c_cast(tokens, k, edits);
  }
  return apply_edits(source, edits);
}

}  // namespace fb::toolchain
