#include "judge/catalog/statement.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/strings.h"
#include "judge/catalog/libraries.h"
#include "judge/catalog/rules.h"

namespace fb::catalog {
namespace {

bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Everything between backticks, spans and blocks: a run of backticks ends at the next run of the same length.
std::vector<std::string_view> code_in(std::string_view text) {
  std::vector<std::string_view> code;
  size_t at = 0;
  while ((at = text.find('`', at)) != std::string_view::npos) {
    const size_t begin = std::min(text.find_first_not_of('`', at), text.size());
    const std::string_view fence = text.substr(at, begin - at);
    size_t end = begin;
    while ((end = text.find(fence, end)) != std::string_view::npos) {
      const size_t after = std::min(text.find_first_not_of('`', end), text.size());
      if (after - end == fence.size()) break;
      end = after;
    }
    if (end == std::string_view::npos) {
      at = begin;  // not closed: not code
      continue;
    }
    code.push_back(text.substr(begin, end - begin));
    at = end + fence.size();
  }
  return code;
}

enum class Ending : uint8_t { whole, any };

// Finds `word` at the beginning of a word, and as a whole word unless any ending is accepted.
bool holds(std::string_view code, std::string_view word, Ending ending) {
  for (size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !is_word(word[0]) || !is_word(code[at - 1]);
    if (begins && (ending == Ending::any || end == code.size() || !is_word(code[end]))) return true;
  }
  return false;
}

}  // namespace

std::vector<Diagnostic> lint_statement(const Problem& problem) {
  const auto code = code_in(problem.statement);
  const auto says = [&](std::string_view word, Ending ending) {
    return std::ranges::any_of(code, [&](std::string_view part) { return holds(part, word, ending); });
  };
  std::vector<Diagnostic> missing;
  const auto miss = [&](std::string message) { missing.push_back({{}, "statement.md: " + std::move(message)}); };
  for (const Tensor& tensor : problem.tensors) {
    if (!says(tensor.name, Ending::whole)) miss(fmt::format("does not mention the tensor `{}`", tensor.name));
  }
  for (const auto& [name, about] : problem.parameters) {
    if (!says(name, Ending::whole)) miss(fmt::format("does not mention the parameter `{}`", name));
  }
  for (const std::string& kind : problem.rules.forbid_in_run) {
    const Rule* rule = find_rule(kind);
    const auto words = split(rule == nullptr ? kind : rule->words, ' ');
    if (says(kind, Ending::whole)) continue;
    if (std::ranges::any_of(words, [&](std::string_view word) { return says(word, Ending::any); })) continue;
    miss(fmt::format("does not explain that `run` must do without {} (`{}`)", rule == nullptr ? kind : rule->about,
                     words[0]));
  }
  for (const std::string& symbol : problem.rules.forbid_symbols) {
    if (!says(symbol, Ending::whole)) miss(fmt::format("does not mention the forbidden symbol `{}`", symbol));
  }
  for (const std::string& name : problem.rules.libraries) {
    const Library* library = find_library(name);
    if (library != nullptr && !says(library->header, Ending::whole) && !says(library->name, Ending::any))
      miss(fmt::format("does not say that the library {} may be called", name));
  }
  return missing;
}

}  // namespace fb::catalog
