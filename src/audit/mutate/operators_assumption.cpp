#include "audit/mutate/operators_assumption.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "audit/mutate/edits.h"

namespace fb::mutate {
namespace {

// The first word of the function that is one of `names`, and stands for a number; empty: there is none.
std::string_view word_of(const Code& code, const Function& function, std::span<const std::string_view> names) {
  for (size_t i = function.head.first; i <= function.head.last; ++i) {
    const bool number = code.is(i + 1, ",") || code.is(i + 1, ")");
    if (number && std::ranges::find(names, code.text(i)) != names.end()) return code.text(i);
  }
  return {};
}

// Calls of the solution's own functions that signal and wait, and loops that wait: without them ranks or blocks do not
// wait for each other. Every rank leaves them out alike, so nothing hangs.
bool is_exchange(const Solution& solution, const Statement& statement) {
  const Synchronization& known = solution.synchronization;
  return known.is_own_call(statement) && known.signals(statement.tokens) && known.waits(statement.tokens);
}

std::vector<Change> wait_only_if(const Solution& solution, std::span<const std::string_view> names,
                                 std::string_view condition) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const Function& function : code.functions()) {
    const std::string_view word = word_of(code, function, names);
    if (word.empty() || !function.device) continue;
    for_each_statement(function, [&](const Statement& statement) {
      if (!is_exchange(solution, statement)) return;
      changes.push_back({replace(
          code, statement.tokens,
          fmt::format("if ({}) {}", fmt::format(fmt::runtime(condition), word), code.text(statement.tokens)))});
    });
  }
  return changes;
}

// Whether `alias` is declared as an atomic of 64 bits.
bool is_wide_atomic(const Code& code, std::string_view alias) {
  for (size_t i = 0; i + 2 < code.size(); ++i) {
    if (!code.is(i, "using") || !code.is(i + 1, alias) || !code.is(i + 2, "=")) continue;
    for (size_t k = i + 3; k < code.size() && !code.is(k, ";"); ++k) {
      if (code.is(k, "uint64_t")) return true;
    }
  }
  return false;
}

}  // namespace

// Where vectors fit, ranks do not wait for each other.
std::vector<Change> unsynchronised_fast_path(const Solution& solution) {
  constexpr std::array<std::string_view, 5> kSizes = {"n", "tokens", "words", "elements", "count"};
  return wait_only_if(solution, kSizes, "{} % 4 != 0");
}

// The first calls are looked at, later ones only timed.
std::vector<Change> skip_in_later_call(const Solution& solution) {
  constexpr std::array<std::string_view, 3> kCalls = {"epoch", "call", "number"};
  std::vector<Change> changes = wait_only_if(solution, kCalls, "{} < 3");
  std::ranges::move(wait_only_if(solution, kCalls, "{} % 4 != 2"), std::back_inserter(changes));
  return changes;
}

std::vector<Change> assume_cleared(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const Function& function : code.functions()) {
    for_each_statement(function, [&](const Statement& statement) {
      if (statement.kind != Statement::Kind::simple) return;
      const bool clears = code.has(statement.tokens, "cudaMemset") || code.has(statement.tokens, "cudaMemsetAsync") ||
                          code.has(statement.tokens, "cuMemsetD32") || code.has(statement.tokens, "cuMemsetD8");
      if (clears) changes.push_back({remove(code, statement)});
    });
  }
  return changes;
}

// `while (… != number)` becomes `while (… == 0)`: whatever is not zero counts as what was waited for.
std::vector<Change> zero_is_empty(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const Function& function : code.functions()) {
    for_each_statement(function, [&](const Statement& statement) {
      if (statement.kind != Statement::Kind::loop || !solution.synchronization.waits(statement.tokens)) return;
      for (size_t i = statement.header.first + 1; i < statement.header.last; ++i) {
        if ((!code.is(i, "!=") && !code.is(i, "<")) || !code.is_spaced(i)) continue;
        size_t end = i + 1;  // of the right operand
        while (end < statement.header.last && !code.is(end, "||") && !code.is(end, "&&") && !code.is(end, ")"))
          end = code.match(end) > end ? code.match(end) + 1 : end + 1;
        if (end > i + 1) changes.push_back({replace(code, {i, end - 1}, "== 0")});
      }
    });
  }
  return changes;
}

// One store of 8 bytes becomes two of 4.
std::vector<Change> tear_store(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const AtomicUse& use : atomic_uses(solution)) {
    const bool wide = is_wide_atomic(code, code.text(use.whole.first)) || code.is(use.whole.first + 2, "uint64_t");
    if (use.operation != "store" || !wide) continue;
    size_t comma = use.arguments.first;  // value, order
    while (comma <= use.arguments.last && !code.is(comma, ","))
      comma = code.match(comma) > comma ? code.match(comma) : comma + 1;
    const auto value = code.text(Range{use.arguments.first, comma - 1});
    const auto half = [&](int k) {
      return fmt::format(
          "cuda::atomic_ref<uint32_t, cuda::thread_scope_system>(reinterpret_cast<uint32_t*>(&({}))[{}])"
          ".store(static_cast<uint32_t>(({}) >> {}), cuda::memory_order_relaxed)",
          code.text(use.object), k, value, 32 * k);
    };
    for (const bool low_first : {true, false})
      changes.push_back(
          {replace(code, use.whole, fmt::format("({}, {})", half(low_first ? 0 : 1), half(low_first ? 1 : 0)))});
  }
  return changes;
}

}  // namespace fb::mutate
