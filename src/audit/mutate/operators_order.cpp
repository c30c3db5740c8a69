#include "audit/mutate/operators_order.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "audit/mutate/edits.h"

namespace fb::mutate {
namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

template <class Visit>
void for_each_statement_of(const Solution& solution, Visit visit) {
  for (const auto& function : solution.code.functions())
    for_each_statement(function, [&](const Statement& statement) { visit(function, statement); });
}

bool is_in_fence(const Solution& solution, size_t token) {
  bool found = false;
  for_each_statement_of(solution, [&](const Function&, const Statement& statement) {
    found |= solution.synchronization.is_fence(statement) && statement.tokens.first <= token &&
             token <= statement.tokens.last;
  });
  return found;
}

// Literals of asm statements in which one part of a name may stand for another: "st.release.sys" has ".release".
void rename_in_literals(const Solution& solution, std::span<const Renaming> renamings, bool in_fences,
                        std::vector<Change>& changes) {
  const Code& code = solution.code;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code.token(i).kind != Token::Kind::text || is_in_fence(solution, i) != in_fences) continue;
    for (const auto& [from, to] : renamings) {
      const size_t at = code.text(i).find(from);
      if (at == std::string_view::npos) continue;
      const char next = code.text(i)[at + from.size()];
      if (next != '.' && next != ' ' && next != ';') continue;  // ".sys" of ".system"
      changes.push_back({{code.token(i).begin + at, from.size(), std::string(to)}});
    }
  }
}

void rename_words(const Solution& solution, std::span<const Renaming> renamings, bool in_fences,
                  std::vector<Change>& changes) {
  const Code& code = solution.code;
  for (size_t i = 0; i < code.size(); ++i) {
    for (const auto& [from, to] : renamings) {
      if (code.is(i, from) && is_in_fence(solution, i) == in_fences)
        changes.push_back({replace(code, i, std::string(to))});
    }
  }
}

constexpr std::array<Renaming, 3> kNarrowerScopes = {{{"thread_scope_system", "thread_scope_device"},
                                                      {"thread_scope_system", "thread_scope_block"},
                                                      {"thread_scope_device", "thread_scope_block"}}};
constexpr std::array<Renaming, 3> kNarrowerSuffixes = {{{".sys", ".gpu"}, {".sys", ".cta"}, {".gpu", ".cta"}}};

// using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>: one use of it is at a narrower scope than all
// others.
void narrow_one_side(const Solution& solution, std::vector<Change>& changes) {
  const Code& code = solution.code;
  for (size_t i = 0; i + 2 < code.size(); ++i) {
    if (!code.is(i, "using") || !code.is(i + 2, "=")) continue;
    const std::string_view alias = code.text(i + 1);
    size_t end = i + 3;
    while (end < code.size() && !code.is(end, ";")) ++end;
    std::string type(code.text(Range{i + 3, end - 1}));
    const size_t scope = type.find("thread_scope_system");
    if (scope == std::string::npos) continue;
    type.replace(scope, std::string_view("thread_scope_system").size(), "thread_scope_device");
    for (size_t use = end; use + 1 < code.size(); ++use) {
      if (!code.is(use, alias)) continue;
      if (code.is(use + 1, "<")) {  // Shared<uint32_t>: its argument in place of T
        const size_t comma = type.find(", ");
        if (!code.is(use + 3, ">") || comma == std::string::npos) continue;
        changes.push_back({replace(code, {use, use + 3},
                                   fmt::format("cuda::atomic_ref<{}{}", code.text(use + 2), type.substr(comma)))});
      } else if (code.is(use + 1, "(") || code.is_word(use + 1)) {
        changes.push_back({replace(code, use, type)});
      }
    }
  }
}

}  // namespace

std::vector<Change> drop_fence(const Solution& solution) {
  std::vector<Change> changes;
  for_each_statement_of(solution, [&](const Function&, const Statement& statement) {
    if (solution.synchronization.is_fence(statement)) changes.push_back({remove(solution.code, statement)});
  });
  return changes;
}

std::vector<Change> drop_barrier(const Solution& solution) {
  const auto& known = solution.synchronization;
  std::vector<Change> changes;
  for_each_statement_of(solution, [&](const Function& function, const Statement& statement) {
    const bool is_exchange =
        known.is_own_call(statement) && known.signals(statement.tokens) && known.waits(statement.tokens);
    if ((known.is_barrier(statement) || is_exchange) && &statement != known.exit_wait(function))
      changes.push_back({remove(solution.code, statement)});
  });
  return changes;
}

std::vector<Change> weaken_fence(const Solution& solution) {
  constexpr std::array<Renaming, 2> kCalls = {
      {{"__threadfence_system", "__threadfence"}, {"__threadfence", "__threadfence_block"}}};
  std::vector<Change> changes;
  rename_words(solution, kNarrowerScopes, true, changes);
  rename_words(solution, kCalls, true, changes);
  rename_in_literals(solution, kNarrowerSuffixes, true, changes);
  return changes;
}

std::vector<Change> weaken_barrier(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for_each_statement_of(solution, [&](const Function&, const Statement& statement) {
    if (!solution.synchronization.is_barrier(statement)) return;
    const size_t first = statement.tokens.first;
    if (code.is(first, "__syncthreads")) changes.push_back({replace(code, first, "__syncwarp")});
    if (code.is(first + 2, "sync")) changes.push_back({replace(code, statement.tokens, "__syncthreads();")});
  });
  return changes;
}

std::vector<Change> narrow_scope(const Solution& solution) {
  constexpr std::array<Renaming, 4> kCalls = {{{"atomicAdd_system", "atomicAdd"},
                                               {"atomicExch_system", "atomicExch"},
                                               {"atomicCAS_system", "atomicCAS"},
                                               {"atomicMax_system", "atomicMax"}}};
  std::vector<Change> changes;
  rename_words(solution, kNarrowerScopes, false, changes);
  rename_words(solution, kCalls, false, changes);
  rename_in_literals(solution, kNarrowerSuffixes, false, changes);
  narrow_one_side(solution, changes);
  return changes;
}

std::vector<Change> relax_acquire(const Solution& solution) {
  constexpr std::array<Renaming, 2> kWords = {
      {{"memory_order_acquire", "memory_order_relaxed"}, {"memory_order_acq_rel", "memory_order_release"}}};
  constexpr std::array<Renaming, 2> kSuffixes = {{{".acquire", ".relaxed"}, {".acq_rel", ".release"}}};
  std::vector<Change> changes;
  rename_words(solution, kWords, false, changes);
  rename_in_literals(solution, kSuffixes, false, changes);
  return changes;
}

std::vector<Change> relax_release(const Solution& solution) {
  constexpr std::array<Renaming, 2> kWords = {
      {{"memory_order_release", "memory_order_relaxed"}, {"memory_order_acq_rel", "memory_order_acquire"}}};
  constexpr std::array<Renaming, 2> kSuffixes = {{{".release", ".relaxed"}, {".acq_rel", ".acquire"}}};
  constexpr std::array<Renaming, 1> kFence = {{{"memory_order_release", "memory_order_acquire"}}};
  std::vector<Change> changes;
  rename_words(solution, kWords, false, changes);
  rename_in_literals(solution, kSuffixes, false, changes);
  rename_words(solution, kFence, true, changes);
  return changes;
}

std::vector<Change> plain_access(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const auto& use : atomic_uses(solution)) {
    const auto object = code.text(use.object);
    if (use.operation == "load") changes.push_back({replace(code, use.whole, fmt::format("({})", object))});
    if (use.operation != "store") continue;
    size_t comma = use.arguments.first;  // value, order
    while (comma <= use.arguments.last && !code.is(comma, ","))
      comma = code.match(comma) > comma ? code.match(comma) : comma + 1;
    const auto value = code.text(Range{use.arguments.first, comma - 1});
    changes.push_back({replace(code, use.whole, fmt::format("({}) = ({})", object, value))});
  }
  constexpr std::array<Renaming, 4> kSuffixes = {
      {{"ld.relaxed.sys", "ld"}, {"st.relaxed.sys", "st"}, {"ld.acquire.sys", "ld"}, {"st.release.sys", "st"}}};
  rename_in_literals(solution, kSuffixes, false, changes);
  return changes;
}

std::vector<Change> plain_update(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (size_t i = 0; i + 3 < code.size(); ++i) {
    if (!code.is(i, "atomicAdd") || !code.is(i + 1, "(") || !code.is(i + 2, "&")) continue;
    const size_t close = code.match(i + 1);
    size_t comma = i + 3;
    while (comma < close && !code.is(comma, ",")) comma = code.match(comma) > comma ? code.match(comma) : comma + 1;
    changes.push_back({replace(
        code, {i, close},
        fmt::format("({} += {})", code.text(Range{i + 3, comma - 1}), code.text(Range{comma + 1, close - 1})))});
  }
  for (const auto& use : atomic_uses(solution)) {
    if (use.operation != "fetch_add") continue;
    changes.push_back({replace(code, use.whole, fmt::format("({})++", code.text(use.object)))});
  }
  return changes;
}

}  // namespace fb::mutate
