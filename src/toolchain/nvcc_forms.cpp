#include "toolchain/nvcc_forms.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "toolchain/text_edits.h"

namespace fb::toolchain {
namespace {

// The configuration of a launch, from the token behind "<<<". Returns the token of ">>>", or `from` if there is none.
size_t edit_launch(const Tokens& tokens, size_t from, std::vector<TextEdit>& edits) {
  constexpr std::array<const char*, 4> kTypes = {"dim3", "dim3", "size_t", "cudaStream_t"};
  std::vector<TextEdit> found;
  size_t argument = 0;
  bool at_begin = true;
  int depth = 0;
  for (size_t k = from; k < tokens.size(); ++k) {
    if (depth == 0 && tokens.is_run(k, '>', 3)) {
      edits.insert(edits.end(), found.begin(), found.end());
      return k;
    }
    if (tokens.is(k, ";")) break;
    if (at_begin && tokens.is(k, "{") && argument < kTypes.size())
      found.push_back({tokens[k].begin, 0, kTypes[argument]});
    at_begin = depth == 0 && tokens.is(k, ",");
    if (at_begin) ++argument;
    if (tokens.opens(k)) ++depth;
    if (tokens.closes(k) && --depth < 0) break;
  }
  return from;
}

bool is_restrict(const Tokens& tokens, size_t k) { return tokens.is(k, "__restrict__") || tokens.is(k, "__restrict"); }

// Whether the qualifier at `k` belongs to an array's elements.
bool of_array(const Tokens& tokens, size_t k) {
  if (tokens.is_word(k + 1) && tokens.is(k + 2, "[")) return true;
  // "array<" before it, and no other bracket between.
  if (!tokens.is(k + 1, ",")) return false;
  for (size_t back = k; back > 0; --back) {
    if (tokens.is(back, "<")) return tokens.is(back - 1, "array");
    if (!tokens.is_word(back) && !tokens.is(back, "*") && !tokens.is(back, ":")) return false;
  }
  return false;
}

}  // namespace

std::string with_clang_forms(std::string_view source) {
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  int parentheses = 0;
  std::vector<int> outer;  // parentheses that are open around each brace
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (tokens.is_run(k, '<', 3)) {
      k = edit_launch(tokens, k + 3, edits);
      if (k >= tokens.size()) break;
    }
    if (tokens.is(k, "{")) {
      outer.push_back(parentheses);
      parentheses = 0;
    } else if (tokens.is(k, "}") && !outer.empty()) {
      parentheses = outer.back();
      outer.pop_back();
    } else if (tokens.is(k, "(")) {
      ++parentheses;
    } else if (tokens.is(k, ")") && parentheses > 0) {
      --parentheses;
    } else if (parentheses == 0 && is_restrict(tokens, k) && of_array(tokens, k)) {
      edits.push_back({tokens[k].begin, tokens[k].end - tokens[k].begin, ""});
    }
  }
  return apply_edits(source, std::move(edits));
}

std::string with_raw_shared(std::string_view source, const std::vector<Location>& names) {
  std::vector<size_t> lines = {0};  // offsets
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\n') lines.push_back(i + 1);
  }
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  for (const Location& at : names) {
    if (at.line == 0 || at.line > lines.size()) continue;
    const size_t offset = lines[at.line - 1] + at.column - 1;
    size_t name = 0, begin = 0;
    for (; name < tokens.size() && tokens[name].begin != offset; ++name) {
      if (tokens.is(name, "__shared__")) begin = name;
    }
    if (name >= tokens.size() || !tokens.is_word(name) || !tokens.is(begin, "__shared__")) continue;
    size_t end = name + 1;
    while (tokens.is(end, "[")) {
      while (end < tokens.size() && !tokens.is(end, "]")) ++end;
      ++end;
    }
    if (!tokens.is(end, ";")) continue;  // one variable, without an initial value
    const std::string_view variable = tokens[name].text(source);
    const std::string_view dimensions = source.substr(tokens[name].end, tokens[end].begin - tokens[name].end);
    edits.push_back({tokens[begin].end, 0, " ::fabricbench::RawShared<"});
    edits.push_back({tokens[name].begin, tokens[end].begin - tokens[name].begin,
                     fmt::format("{0}> {1}_raw_; auto& {1} = {1}_raw_.object()", dimensions, variable)});
  }
  return apply_edits(source, std::move(edits));
}

}  // namespace fb::toolchain
