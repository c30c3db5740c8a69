#include "audit/mutate/operators_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/mutate/edits.h"

namespace fb::mutate {
namespace {

template <class Visit>
void for_each_neighbours(const Solution& solution, Visit visit) {
  for (const auto& function : solution.code.functions()) {
    for_each_sequence(function, [&](const std::vector<Statement>& sequence) {
      for (size_t i = 1; i < sequence.size(); ++i) visit(sequence, i);
    });
  }
}

struct Role {
  bool signals = false, waits = false;
};

Role role_of(const Solution& solution, const Statement& statement) {
  return {solution.synchronization.signals(statement.tokens), solution.synchronization.waits(statement.tokens)};
}

bool only_signals(Role role) { return role.signals && !role.waits; }
bool only_waits(Role role) { return role.waits && !role.signals; }

// Counts of calls and messages, as references call them.
bool is_epoch(std::string_view word) {
  constexpr std::array<std::string_view, 8> kNames = {"epoch",  "epoch_", "call",   "call_",
                                                      "number", "flag",   "popped", "sent"};
  return std::ranges::find(kNames, word) != kNames.end();
}

}  // namespace

std::vector<Change> drop_wait(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const auto& function : code.functions()) {
    const Statement* const exit = solution.synchronization.exit_wait(function);
    for_each_statement(function, [&](const Statement& statement) {
      if (&statement == exit || !solution.synchronization.waits(statement.tokens)) return;
      const bool spins = statement.kind == Statement::Kind::loop;
      if (spins && code.is(statement.tokens.first, "do")) {  // once instead of until
        changes.push_back({replace(code, statement.tokens, std::string(code.text(statement.parts.front().tokens)))});
      } else if (spins && solution.synchronization.waits(statement.header)) {
        changes.push_back({remove(code, statement)});
      } else if (solution.synchronization.is_own_call(statement) && only_waits(role_of(solution, statement))) {
        changes.push_back({remove(code, statement)});
      }
    });
  }
  return changes;
}

std::vector<Change> drop_signal(const Solution& solution) {
  std::vector<Change> changes;
  for (const auto& function : solution.code.functions()) {
    for_each_statement(function, [&](const Statement& statement) {
      if (statement.kind == Statement::Kind::simple && statement.parts.empty() &&
          only_signals(role_of(solution, statement)))
        changes.push_back({remove(solution.code, statement)});
    });
  }
  return changes;
}

std::vector<Change> drop_exit_barrier(const Solution& solution) {
  std::vector<Change> changes;
  for (const auto& function : solution.code.functions()) {
    if (const Statement* exit = solution.synchronization.exit_wait(function); exit != nullptr)
      changes.push_back({remove(solution.code, *exit)});
  }
  return changes;
}

std::vector<Change> flag_before_data(const Solution& solution) {
  const Code& code = solution.code;
  const auto& known = solution.synchronization;
  std::vector<Change> changes;
  for_each_neighbours(solution, [&](const std::vector<Statement>& sequence, size_t i) {
    if (!known.signals(sequence[i].tokens) || known.waits(sequence[i - 1].tokens)) return;
    changes.push_back({exchange(code, sequence[i - 1], sequence[i])});
    // What is before a fence or a barrier is data.
    if (i < 2 || (!known.is_barrier(sequence[i - 1]) && !known.is_fence(sequence[i - 1]))) return;
    Statement both = sequence[i - 2];
    both.tokens.last = sequence[i - 1].tokens.last;
    changes.push_back({exchange(code, both, sequence[i])});
  });
  return changes;
}

std::vector<Change> use_before_wait(const Solution& solution) {
  std::vector<Change> changes;
  for_each_neighbours(solution, [&](const std::vector<Statement>& sequence, size_t i) {
    const bool waits = only_waits(role_of(solution, sequence[i - 1]));
    if (waits && !solution.synchronization.signals(sequence[i].tokens))
      changes.push_back({exchange(solution.code, sequence[i - 1], sequence[i])});
  });
  return changes;
}

std::vector<Change> swap_send_receive(const Solution& solution) {
  std::vector<Change> changes;
  for_each_neighbours(solution, [&](const std::vector<Statement>& sequence, size_t i) {
    const Role one = role_of(solution, sequence[i - 1]), next = role_of(solution, sequence[i]);
    if ((only_signals(one) && only_waits(next)) || (only_waits(one) && only_signals(next)))
      changes.push_back({exchange(solution.code, sequence[i - 1], sequence[i])});
  });
  return changes;
}

std::vector<Change> stale_epoch(const Solution& solution) {
  const Code& code = solution.code;
  const auto& known = solution.synchronization;
  std::vector<Change> changes;
  for (const auto& function : code.functions()) {
    for_each_statement(function, [&](const Statement& statement) {
      const bool spins = statement.kind == Statement::Kind::loop;
      if (!spins && (statement.kind != Statement::Kind::simple || !statement.parts.empty())) return;
      const Range looked_at = spins ? statement.header : statement.tokens;
      const bool concerned =
          known.signals(looked_at) || known.waits(looked_at) || (spins && known.waits(statement.tokens));
      if (!concerned) return;
      for (size_t i = looked_at.first + 1; i < looked_at.last; ++i) {
        // As a whole operand: "< epoch)", "(call,", "2 * epoch)".
        const bool ends = code.is(i + 1, ")") || code.is(i + 1, ",");
        const bool begins = code.is(i - 1, "(") || code.is(i - 1, ",") || code.is(i - 1, "*") || code.is(i - 1, "<") ||
                            code.is(i - 1, "!=");
        // Flag(flag).store(…): a reference to the flag itself.
        const bool object = code.is(i + 1, ")") && code.is(i + 2, ".");
        if (is_epoch(code.text(i)) && begins && ends && !object)
          changes.push_back({replace(code, i, fmt::format("{} - 1", code.text(i)))});
      }
    });
  }
  return changes;
}

std::vector<Change> reuse_flag(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (size_t i = 0; i + 1 < code.size(); ++i) {
    if (code.is(i, "++") && code.text(i + 1).ends_with("_")) {
      changes.push_back({replace(code, {i, i + 1}, fmt::format("({} = 1)", code.text(i + 1)))});
      changes.push_back({replace(code, i, "")});
    }
    if (code.text(i).ends_with("_") && code.is(i + 1, "+=")) {
      size_t end = i;
      while (end < code.size() && !code.is(end, ";")) ++end;
      changes.push_back({replace(code, {i, end}, ";")});
    }
  }
  return changes;
}

std::vector<Change> single_buffer(const Solution& solution) {
  const Code& code = solution.code;
  Change all;
  for (size_t i = 0; i + 1 < code.size(); ++i) {
    if (code.is(i, "%") && code.is(i + 1, "2")) all.push_back(replace(code, i + 1, "1"));
  }
  // n % 2 == 0 asks for something else.
  std::erase_if(all, [&](const Edit& edit) { return code.source().substr(edit.offset + 1).starts_with(" =="); });
  if (all.empty()) return {};
  return {all};
}

}  // namespace fb::mutate
