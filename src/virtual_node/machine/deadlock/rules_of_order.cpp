// Barriers, work that can't begin, and ranks that do not take part.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "virtual_node/machine/deadlock/causes.h"
#include "virtual_node/machine/deadlock/rules.h"

namespace fb::machine::rules {

namespace {

bool is_local(WaitKind kind) {
  return kind == WaitKind::block_barrier || kind == WaitKind::lanes || kind == WaitKind::mbarrier ||
         kind == WaitKind::shared_memory || kind == WaitKind::cluster_barrier;
}

bool is_among(const std::vector<size_t>& list, size_t k) { return std::ranges::find(list, k) != list.end(); }

std::string locations_of(const WaitGraph& g, const std::vector<size_t>& waits) {
  std::string text;
  for (size_t k = 0; k < waits.size() && k < 3; ++k)
    text += fmt::format("{}{}", k == 0 ? "" : ", ", short_location(g.waits[waits[k]].location));
  return text;
}

std::vector<size_t> with(size_t first, const std::vector<size_t>& others) {
  std::vector<size_t> all{first};
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace

Found collective(const WaitGraph& g) {
  const auto& blame = g.facts.collective;
  if (!blame || (blame->is_victim && !g.waits.empty())) return std::nullopt;
  return Finding{static_cast<Cause>(blame->cause), blame->sentence, blame->look_at, {}};
}

Found cards(const WaitGraph& g) {
  const auto& blame = g.facts.cards;
  if (!blame || (blame->is_victim && !g.waits.empty())) return std::nullopt;
  return Finding{static_cast<Cause>(blame->cause), blame->sentence, blame->look_at, {}};
}

Found flag_of_card(const WaitGraph& g) {
  if (!g.facts.explain_memory) return std::nullopt;
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (w.kind != WaitKind::memory || w.run == Wait::kNone || !w.has_no_writer()) continue;
    const std::string writers = g.facts.explain_memory(g.facts.runs[w.run].process, w.address);
    if (writers.empty()) continue;
    return Finding{Cause::never_signalled,
                   fmt::format("{} {}{}; {}", name_of(g, w), needs(w), at_location(w), writers),
                   "the RDMA write that should signal it: whether it is posted, and its remote address",
                   {k}};
  }
  return std::nullopt;
}

// Within a block

namespace {

// The threads that have not arrived wait within the block too, or have exited: no agent outside the block can help.
bool is_confined_to_block(const WaitGraph& g, const Wait& w) {
  return std::ranges::all_of(w.waits, [&](size_t o) { return is_local(g.waits[o].kind); });
}

}  // namespace

Found counted_barrier(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (w.kind != WaitKind::block_barrier || !w.counted || !is_confined_to_block(g, w)) continue;
    const std::string others = w.waits.empty()
                                   ? (w.exited != 0 ? fmt::format("{} threads of the block have exited", w.exited)
                                                    : "all threads of the block have arrived")
                                   : fmt::format("the others wait at {}", locations_of(g, w.waits));
    return Finding{Cause::barrier_expects_too_many,
                   fmt::format("barrier {} of {} expects {} threads{}, {} have arrived, and {}", w.barrier,
                               name_of(g, w), w.expected, at_location(w), w.arrived, others),
                   "the thread count that the barrier is given: it must equal the number of threads that arrive",
                   with(k, w.waits)};
  }
  return std::nullopt;
}

Found barrier(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (w.kind != WaitKind::block_barrier && w.kind != WaitKind::lanes) continue;
    if (!is_confined_to_block(g, w)) continue;
    if (w.kind == WaitKind::lanes) {
      if (w.waits.empty()) continue;
      return Finding{
          Cause::barrier_divergence,
          fmt::format("lanes {:#010x} of {} wait{} for lanes {:#010x} of their warp, which wait at {}",
                      w.threads.front().lanes, name_of(g, w), at_location(w), w.missing_lanes,
                      locations_of(g, w.waits)),
          "the condition that sends lanes of one warp to different barriers: all lanes that a barrier or mask "
          "names must arrive at it",
          with(k, w.waits)};
    }
    if (w.waits.empty()) continue;
    return Finding{
        Cause::barrier_divergence,
        fmt::format("threads of one block wait at different barriers: {} of {} at {}, others at {}", w.arrived,
                    w.expected, short_location(w.location), locations_of(g, w.waits)),
        "the branch that leads threads past a barrier: every thread of the block must arrive at the same one, "
        "or exit",
        with(k, w.waits)};
  }
  return std::nullopt;
}

Found mbarrier(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (w.kind != WaitKind::mbarrier) continue;
    const bool others = std::ranges::any_of(
        w.waits, [&](size_t o) { return g.waits[o].kind != WaitKind::mbarrier || g.waits[o].address != w.address; });
    if (others) continue;
    const simt::Mbarrier& b = w.mbarrier;
    std::string lacks;
    if (b.pending != 0) lacks = fmt::format("{} of {} arrivals", b.pending, b.expected);
    if (b.tx > 0) lacks += fmt::format("{}{} bytes of copies", lacks.empty() ? "" : " and ", b.tx);
    if (lacks.empty())
      return Finding{
          Cause::epochs_differ,
          fmt::format(
              "{} waits{} for a phase of the mbarrier that has not begun: no arrival is missing in the current phase",
              name_of(g, w), at_location(w)),
          "the parity or state that the wait is given, against the number of phases that have ended",
          {k}};
    return Finding{
        Cause::barrier_expects_too_many,
        fmt::format("{} waits{} for an mbarrier that still expects {}, and no agent is left that could provide them",
                    name_of(g, w), at_location(w), lacks),
        "the count given to mbarrier.init (and expect_tx): it must equal the number of arrivals (and bytes) "
        "of each phase",
        {k}};
  }
  return std::nullopt;
}

// Work that can't begin

namespace {

// A waiting thread of another kernel could write it.
bool others_could_write(const WaitGraph& g, const Wait& w) {
  return std::ranges::any_of(w.waits, [&](size_t o) { return g.waits[o].run != w.run; });
}

Found not_resident(const WaitGraph& g, bool surely) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (w.unstarted.empty() || (surely && others_could_write(g, w))) continue;
    const BlockedRun& late = g.facts.runs[w.unstarted.front()];
    const uint64_t all = late.run->grid.grid.count(), left = all - late.run->next_block;
    const bool own = w.run == w.unstarted.front();
    return Finding{
        Cause::not_resident,
        fmt::format(
            "{} {}{}; {} of {} blocks of {} could write it and have not started: the device has room for {} "
            "of them while these wait",
            name_of(g, w), needs(w), at_location(w), left, all,
            own ? "its own grid" : fmt::format("{}'s kernel {}", late.owner, short_name(late.run->grid.kernel->name)),
            all - left - late.run->finished_blocks),
        "the size of the grid: blocks that wait for each other must all be resident at once (a cooperative launch "
        "checks it)",
        {k}};
  }
  return std::nullopt;
}

}  // namespace

Found surely_not_resident(const WaitGraph& g) { return not_resident(g, true); }
Found perhaps_not_resident(const WaitGraph& g) { return not_resident(g, false); }

Found stream_order(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (others_could_write(g, w)) continue;
    for (const size_t o : w.ops) {
      const BlockedOp& op = g.facts.ops[o];
      // The next launch of the same kernel is no signal to this one.
      if (op.grid && op.grid->kernel->name == mangled_kernel_of(g, w)) continue;
      const bool behind = w.run != Wait::kNone ? is_among(op.after_runs, w.run) : is_among(op.after_ops, w.op);
      if (!behind) continue;
      return Finding{Cause::stream_order,
                     fmt::format("{} {}{}; \"{}\" of {} would write it, but comes after it in the order of streams and "
                                 "events",
                                 name_of(g, w), needs(w), at_location(w), op.name, op.owner),
                     "the order of the launches, or a stream of its own for the one that signals",
                     {k}};
    }
  }
  return std::nullopt;
}

Found host_and_device(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (!w.host || !w.has_no_writer()) continue;
    for (const BlockedHost& h : g.facts.hosts) {
      const bool waits = w.run != Wait::kNone ? is_among(h.runs, w.run) : std::ranges::any_of(h.ops, [&](size_t o) {
        return o == w.op || is_among(g.facts.ops[o].after_ops, w.op);
      });
      if (!waits) continue;
      return Finding{
          Cause::host_and_device,
          fmt::format("{} {}{} in memory of the host, and the host that should write it waits for the device "
                      "({})",
                      name_of(g, w), needs(w), at_location(w), h.text),
          "the order of the host's calls: the host must write the value before it waits for the kernel, or from "
          "another thread",
          {k}};
    }
  }
  return std::nullopt;
}

// Between ranks

namespace {

size_t ranks_that_launch(const WaitGraph& g, const std::string& kernel) {
  return static_cast<size_t>(std::ranges::count_if(
      g.facts.ranks, [&](const RankFacts& r) { return g.facts.history->launches(r.process, kernel) != 0; }));
}

}  // namespace

// A rank that has launched a kernel less often than another rank that waits in it, and that waits in no kernel itself.
Found missing_rank(const WaitGraph& g) {
  if (!g.facts.history) return std::nullopt;
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    const BlockedRun* run = g.run_of(w);
    if (!run || w.kind != WaitKind::memory || run->rank < 0) continue;
    const std::string kernel = mangled_kernel_of(g, w);
    for (const RankFacts& rank : g.facts.ranks) {
      if (rank.process == run->process) continue;
      const bool has_work =
          rank.in_joint_work ||
          std::ranges::any_of(g.facts.runs, [&](const BlockedRun& r) { return r.process == rank.process; }) ||
          std::ranges::any_of(g.facts.ops, [&](const BlockedOp& o) { return o.process == rank.process; });
      const uint64_t launches = g.facts.history->launches(rank.process, kernel);
      // Ranks that never launch it may have another part to play, unless most do launch it.
      const bool takes_part = launches != 0 || rank.returned || !g.facts.history->has_launched(rank.process) ||
                              ranks_that_launch(g, kernel) * 2 > g.facts.ranks.size();
      if (has_work || launches >= run->launch || !takes_part) continue;
      return Finding{
          Cause::missing_rank,
          fmt::format("{} {}{} in launch {} of the kernel, and {} has launched it {} time{} and {}", name_of(g, w),
                      needs(w), at_location(w), run->launch, rank.name, launches, launches == 1 ? "" : "s",
                      rank.gone       ? "has ended"
                      : rank.returned ? "has returned from its call"
                                      : "launches nothing more"),
          fmt::format("why {} leaves before the others: an early return, an error that is not passed on, or a "
                      "count of calls that depends on the rank",
                      rank.name),
          {k}};
    }
  }
  return std::nullopt;
}

Found different_collectives(const WaitGraph& g) {
  if (!g.facts.history) return std::nullopt;
  const auto lacks = [&](const BlockedRun& run, const BlockedRun& other) {
    return g.facts.history->launches(run.process, other.run->grid.kernel->name) < other.launch;
  };
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const BlockedRun* a = g.run_of(g.waits[k]);
    if (!a || g.waits[k].kind != WaitKind::memory) continue;
    for (size_t o = 0; o < g.waits.size(); ++o) {
      const BlockedRun* b = g.run_of(g.waits[o]);
      if (!b || g.waits[o].kind != WaitKind::memory || b->process == a->process) continue;
      if (a->run->grid.kernel->name == b->run->grid.kernel->name) continue;
      if (!lacks(*a, *b) || !lacks(*b, *a)) continue;
      return Finding{Cause::different_collectives,
                     fmt::format("{} waits in {} (launch {}){}, which {} has not begun: {} waits in {} (launch {}){}",
                                 a->owner, kernel_of(g, g.waits[k]), a->launch, at_location(g.waits[k]), b->owner,
                                 b->owner, kernel_of(g, g.waits[o]), b->launch, at_location(g.waits[o])),
                     "the order in which ranks call collectives: it must be the same on all",
                     {k, o}};
    }
  }
  return std::nullopt;
}

}  // namespace fb::machine::rules
