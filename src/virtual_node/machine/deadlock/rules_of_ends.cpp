// Cycles, agents that have ended, and the last resorts when no other rule applies.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "virtual_node/machine/deadlock/causes.h"
#include "virtual_node/machine/deadlock/rules.h"

namespace fb::machine::rules {

namespace {

bool are_of_one_block(const Wait& a, const Wait& b) {
  if (a.run != b.run || a.threads.empty() || b.threads.empty()) return false;
  return a.threads.front().block == b.threads.front().block;
}

}  // namespace

namespace {

// The shortest cycle of edges. `across`: without edges between threads of one block, which wait for each other at every
// barrier.
std::vector<size_t> shortest_cycle(const WaitGraph& g, bool across) {
  std::vector<size_t> best;
  for (size_t start = 0; start < g.waits.size(); ++start) {
    std::vector<size_t> from(g.waits.size(), Wait::kNone);
    std::deque<size_t> todo{start};
    bool closed = false;
    while (!todo.empty() && !closed) {
      const size_t at = todo.front();
      todo.pop_front();
      for (const size_t next : g.waits[at].waits) {
        if (across && are_of_one_block(g.waits[at], g.waits[next])) continue;
        if (next == start) {
          std::vector<size_t> cycle;
          for (size_t k = at; k != start; k = from[k]) cycle.push_back(k);
          cycle.push_back(start);
          std::ranges::reverse(cycle);
          if (best.empty() || cycle.size() < best.size()) best = cycle;
          closed = true;
          break;
        }
        if (from[next] != Wait::kNone) continue;
        from[next] = at;
        todo.push_back(next);
      }
    }
  }
  return best;
}

}  // namespace

Found cycle(const WaitGraph& g) {
  std::vector<size_t> found = shortest_cycle(g, true);
  if (found.empty()) found = shortest_cycle(g, false);
  if (found.empty()) return std::nullopt;
  if (std::ranges::any_of(found, [&](size_t k) { return !g.waits[k].ended_blocks.empty(); })) return std::nullopt;
  std::string text;
  for (size_t k = 0; k < found.size() && k < 4; ++k) {
    const Wait& w = g.waits[found[k]];
    text += fmt::format("{}{}{}",
                        k == 0   ? ""
                        : k == 1 ? " waits for "
                                 : ", which waits for ",
                        name_of(g, w), at_location(w));
  }
  text += found.size() > 4 ? ", which waits for others, which wait for the first" : ", which waits for the first";
  return Finding{Cause::cycle, text, "the order of signal and wait: at least one of them must signal before it waits",
                 found};
}

Found early_exit_of_blocks(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (w.ended_blocks.empty()) continue;
    return Finding{
        Cause::early_exit,
        fmt::format("{} {}{}; {} could have written it and have ended", name_of(g, w), needs(w), at_location(w),
                    w.ended_blocks.front()),
        "the condition under which a block returns before it has signalled, and the number that is waited for",
        {k}};
  }
  return std::nullopt;
}

// Threads that wait alike, each for a word that another of them would write after its wait.
Found self_cycle(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (!w.itself || w.threads.size() < 2 || w.words < 2) continue;
    return Finding{Cause::cycle,
                   fmt::format("{} {}{}; only threads that wait at the same line would write it, after their wait",
                               name_of(g, w), needs(w), at_location(w)),
                   "the order of signal and wait: at least one of them must signal before it waits",
                   {k}};
  }
  return std::nullopt;
}

Found early_exit(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (!w.waits.empty() || !w.unstarted.empty() || !w.ops.empty()) continue;
    const auto& ended = !w.ended_threads.empty() ? w.ended_threads : w.ended_kernels;
    if (ended.empty()) continue;
    return Finding{Cause::early_exit,
                   fmt::format("{} {}{}; {} could have written it and {} ended", name_of(g, w), needs(w),
                               at_location(w), ended.front(), w.ended_threads.empty() ? "has" : "have"),
                   "the condition under which the writer returns before it has signalled",
                   {k}};
  }
  return std::nullopt;
}

// A rank that has ended can't signal any more.
Found rank_has_left(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (w.kind != WaitKind::memory || !w.has_no_writer()) continue;
    for (const RankFacts& rank : g.facts.ranks) {
      if (!rank.gone) continue;
      return Finding{Cause::missing_rank,
                     fmt::format("{} {}{}, and {} has ended", name_of(g, w), needs(w), at_location(w), rank.name),
                     fmt::format("why {} ends before the others have received their signals", rank.name),
                     {k}};
    }
  }
  return std::nullopt;
}

Found never_signalled(const WaitGraph& g) {
  const Wait* found = nullptr;
  for (const Wait& w : g.waits) {
    if (w.kind != WaitKind::memory && w.kind != WaitKind::shared_memory && w.kind != WaitKind::mbarrier) continue;
    if (!found || (w.has_no_writer() && !found->has_no_writer())) found = &w;
  }
  if (!found) return std::nullopt;
  const Wait& w = *found;
  const bool written = !w.writes.empty();
  return Finding{Cause::never_signalled,
                 fmt::format("{} {}{}; {}", name_of(g, w), needs(w), at_location(w),
                             written ? fmt::format("the last write was by {}", written_by(w.writes.back()))
                                     : "no write to it was made"),
                 "which agent should write this value, in which call, and why it did not",
                 {static_cast<size_t>(found - g.waits.data())}};
}

Found endless_loop(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    if (g.waits[k].kind != WaitKind::nothing) continue;
    return Finding{
        Cause::endless_loop,
        fmt::format("{} runs in a loop{} that reads no memory and changes nothing", name_of(g, g.waits[k]),
                    at_location(g.waits[k])),
        "the loop's condition: perhaps the compiler has moved a plain load out of the loop (use an atomic or "
        "volatile one)",
        {k}};
  }
  return std::nullopt;
}

Found barriers_at_last(const WaitGraph& g) {
  if (g.waits.empty()) return std::nullopt;
  const Wait& w = g.waits.front();
  return Finding{Cause::barrier_divergence,
                 fmt::format("{} waits{} for threads that do not arrive", name_of(g, w), at_location(w)),
                 "which threads arrive at this barrier, and which do not",
                 {0}};
}

Found hosts(const WaitGraph& g) {
  for (const RankFacts& rank : g.facts.ranks) {
    if (!rank.gone) continue;
    return Finding{Cause::missing_rank,
                   fmt::format("no kernel runs, {} has ended, and others wait for it", rank.name),
                   fmt::format("why {} ends before the others", rank.name),
                   {}};
  }
  // Some ranks wait for others that have returned already.
  const auto returned = std::ranges::find(g.facts.ranks, true, &RankFacts::returned);
  for (const BlockedHost& host : g.facts.hosts) {
    const auto rank = std::ranges::find(g.facts.ranks, host.process, &RankFacts::process);
    if (returned == g.facts.ranks.end() || !host.for_peers || rank == g.facts.ranks.end() || rank->returned) continue;
    return Finding{Cause::missing_rank,
                   fmt::format("{}, and {} has returned", host.text, returned->name),
                   "calls that only some ranks make: all ranks must take part in every exchange",
                   {}};
  }
  return Finding{Cause::hosts,
                 "no kernel runs, and all host threads wait for each other",
                 "messages and barriers between processes or threads: each of them waits for one that waits too",
                 {}};
}

}  // namespace fb::machine::rules
