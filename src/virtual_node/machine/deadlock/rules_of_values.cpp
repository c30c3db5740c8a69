// Signals that were overwritten, lost, misplaced, or of another epoch.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "virtual_node/machine/deadlock/causes.h"
#include "virtual_node/machine/deadlock/rules.h"

namespace fb::machine::rules {

namespace {

std::string reset_sentence(const WaitGraph& g, const Wait& w, const PastWrite& there, const PastWrite& over) {
  return fmt::format("{} {}{}; {} was there, written by {}, and was overwritten with {} by {} before it was seen here",
                     name_of(g, w), needs(w), at_location(w), part_of_word(w, there.value.value_or(0)),
                     written_by(there), over.value ? fmt::format("{}", part_of_word(w, *over.value)) : "something else",
                     written_by(over));
}

}  // namespace

Found overwritten(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (!w.need) continue;
    for (size_t i = w.writes.empty() ? 0 : w.writes.size() - 1; i-- > 0;) {
      const PastWrite& there = w.writes[i];
      if (there.kind == WriteHistory::Kind::operation) continue;
      if (!there.value || !w.need->holds(*there.value)) continue;
      // The signal of an earlier iteration, which was seen in that iteration.
      if (w.reader_bits != 0 && (there.seen_by & w.reader_bits) == w.reader_bits) continue;
      const PastWrite& over = w.writes[i + 1];
      const bool is_signal = over.kind == WriteHistory::Kind::store && over.value && part_of_word(w, *over.value) != 0;
      const bool same_agent = over.process == there.process && over.block == there.block && over.warp == there.warp;
      if (is_signal && same_agent)
        return Finding{Cause::epochs_differ,
                       reset_sentence(g, w, there, over),
                       "what keeps the signaller from going on to the next number before this one was seen, or a "
                       "comparison with >= instead of ==",
                       {k}};
      if (is_signal)
        return Finding{Cause::lost_signal,
                       reset_sentence(g, w, there, over),
                       "one word for two signals: use a word for each signaller, or an atomic operation",
                       {k}};
      return Finding{
          Cause::reset,
          reset_sentence(g, w, there, over),
          "the reset: it must come after all waiting threads have seen the signal, or be replaced by a number "
          "that grows with each use",
          {k}};
    }
  }
  return std::nullopt;
}

// The value that means "nothing has come yet" was written as data.
Found taken_for_empty(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    const BlockedRun* run = g.run_of(w);
    if (!run || w.kind != WaitKind::memory || !w.need || w.need->relation != Relation::not_equal || w.writes.empty())
      continue;
    const PastWrite& last = w.writes.back();
    if (last.kind != WriteHistory::Kind::store || last.value != w.seen || last.launch != run->launch) continue;
    // A waiting warp that has cleared the word itself waits for a signal, not for data.
    const bool own =
        last.grid == run->run->grid.id && last.block == w.threads.front().block && last.warp == w.threads.front().index;
    if (own) continue;
    return Finding{
        Cause::taken_for_empty,
        fmt::format("{} {}{}; {} has written {}, which the loop takes for nothing", name_of(g, w), needs(w),
                    at_location(w), written_by(last), w.seen),
        "a value of the data that means \"not there yet\": data may have any value, so a flag or a number of "
        "the call has to come with it",
        {k}};
  }
  return std::nullopt;
}

// Two agents read the same count and stored the same next one.
Found lost_count(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (!w.need) continue;
    for (size_t i = 0; i + 1 < w.writes.size(); ++i) {
      const PastWrite &a = w.writes[i], &b = w.writes[i + 1];
      const bool stores = a.kind == WriteHistory::Kind::store && b.kind == WriteHistory::Kind::store;
      const bool same_agent = a.grid == b.grid && a.block == b.block && a.warp == b.warp;
      if (!stores || same_agent || !a.value || a.value != b.value || w.need->holds(*b.value)) continue;
      return Finding{Cause::lost_signal,
                     fmt::format("{} {}{}; {} was stored twice, by {} and by {}: one of the two counts is lost",
                                 name_of(g, w), needs(w), at_location(w), *a.value, written_by(a), written_by(b)),
                     "the count: an atomic addition instead of load, add and store",
                     {k}};
    }
  }
  return std::nullopt;
}

// The wait is for a flag to be cleared that an earlier launch has set.
Found not_cleared(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    const BlockedRun* run = g.run_of(w);
    if (!run || !w.need || w.need->number() != 0 || w.need->relation != Relation::equal || w.writes.empty()) continue;
    const PastWrite& last = w.writes.back();
    if (last.kind == WriteHistory::Kind::operation || last.kernel != mangled_kernel_of(g, w)) continue;
    if (last.launch >= run->launch) continue;
    return Finding{Cause::epochs_differ,
                   fmt::format("{} {}{} in launch {}; launch {} has left it there, by {}", name_of(g, w), needs(w),
                               at_location(w), run->launch, last.launch, written_by(last)),
                   "which agent clears it between calls; or a number that grows with each call instead of a reset",
                   {k}};
  }
  return std::nullopt;
}

Found epochs_differ(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (!w.need || !w.need->number() || w.writes.empty() || w.seen == 0) continue;
    const PastWrite& last = w.writes.back();
    if (last.kind != WriteHistory::Kind::store || last.value != w.seen) continue;
    // Numbers of calls grow: a thread that could still write it does not write the needed one any more.
    const bool is_past = w.need->relation == Relation::equal && part_of_word(w, w.seen) > *w.need->number();
    if (!w.has_no_writer() && !is_past) continue;
    // A value of an earlier launch says only that there was no signal in this one.
    const BlockedRun* run = g.run_of(w);
    if (run && last.kernel == mangled_kernel_of(g, w) && last.launch < run->launch) continue;
    if (run && last.call > run->call)
      return Finding{
          Cause::epochs_differ,
          fmt::format("{} {}{}; {} is of a later call, by {}: the signal of this call was overwritten before "
                      "it was seen here",
                      name_of(g, w), needs(w), at_location(w), part_of_word(w, w.seen), written_by(last)),
          "what keeps the signaller from going on to the next number before this one was seen: a second set "
          "of words, or a signal back",
          {k}};
    return Finding{
        Cause::epochs_differ,
        fmt::format("{} {}{}; the last signal was {}, by {}", name_of(g, w), needs(w), at_location(w),
                    part_of_word(w, w.seen), written_by(last)),
        "how both sides count: the number that is written and the number that is waited for must come from the "
        "same count of calls",
        {k}};
  }
  // The same wait in the same kernel, for different numbers.
  for (size_t k = 0; k < g.waits.size(); ++k) {
    for (size_t o = 0; o < k; ++o) {
      const Wait &a = g.waits[o], &b = g.waits[k];
      if (!a.need || !b.need || a.kind != WaitKind::memory || b.kind != WaitKind::memory) continue;
      const BlockedRun *ra = g.run_of(a), *rb = g.run_of(b);
      if (!ra || !rb || (ra->process == rb->process && ra->run->gpu == rb->run->gpu)) continue;
      if (mangled_kernel_of(g, a) != mangled_kernel_of(g, b) || a.location.ptx_line != b.location.ptx_line) continue;
      const auto na = a.need->number(), nb = b.need->number();
      if (!na || !nb || na == nb) continue;
      // A rank that is some calls ahead needs a number that is as much ahead.
      if (*nb - *na == rb->launch - ra->launch) continue;
      return Finding{
          Cause::epochs_differ,
          fmt::format("at {} {} (launch {}) needs {} and {} (launch {}) needs {}", short_location(a.location),
                      ra->owner, ra->launch, a.need_text, rb->owner, rb->launch, b.need_text),
          "how ranks count: each call must use the same number on all of them",
          {o, k}};
    }
  }
  return std::nullopt;
}

namespace {

// Where the stores that write the word are known, it was one of them.
bool may_be_for(const WaitGraph& g, const Wait& w, const WriteHistory::Write& write) {
  const KnownGrid* grid = w.stores.empty() ? nullptr : g.facts.history->find_grid(write.grid);
  if (!grid) return true;
  const StoreSite site(grid->module->functions[write.function].name, write.index);
  return std::ranges::any_of(w.stores, [&](const KnownStore& s) { return s.site == site; });
}

// Write number `i` of a word was made by a kernel, was not overwritten, and no warp has read it or waits for it.
bool was_missed(const WaitGraph& g, const mem::Allocation& memory, uint64_t at,
                const std::vector<WriteHistory::Write>& writes, size_t i) {
  const WriteHistory::Write& write = writes[i];
  if (write.kind == WriteHistory::Kind::operation || write.seen_by != 0 || at + write.bytes > memory.size) return false;
  for (size_t later = i + 1; later < writes.size(); ++later) {
    if (writes[later].overlaps(write.offset, write.bytes)) return false;
  }
  return std::ranges::none_of(g.waits, [&](const Wait& o) {
    return o.allocation == &memory && o.offset < at + write.bytes && at < o.offset + o.bytes;
  });
}

}  // namespace

// The needed value was written to a word that no warp reads.
Found elsewhere(const WaitGraph& g) {
  if (!g.facts.history) return std::nullopt;
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (w.kind != WaitKind::memory || !w.need || !w.has_no_writer() || !w.allocation) continue;
    for (const auto& word : g.facts.history->words()) {
      const auto memory = word.memory.lock();
      if (!memory) continue;
      const bool alike = memory->size == w.allocation->size && memory->label == w.allocation->label;
      for (size_t i = word.writes.size(); i-- > 0;) {
        const auto& write = word.writes[i];
        const uint64_t at = word.word * WriteHistory::kWord + write.offset;
        if (!was_missed(g, *memory, at, word.writes, i) || (!write.strong && !alike)) continue;
        if (!may_be_for(g, w, write)) continue;
        uint64_t value = 0;
        std::memcpy(&value, memory->bytes.get() + at, write.bytes);
        if (write.bytes != w.need->bytes || value == 0 || !w.need->holds(value << (w.need->offset * 8))) continue;
        return Finding{Cause::elsewhere,
                       fmt::format("{} {}{}; {} was written at byte {} of {} instead, which no warp reads, by {}",
                                   name_of(g, w), needs(w), at_location(w), value, at, g.facts.name_of(*memory),
                                   written_by(make_past_write(write, g.facts))),
                       "the address of the signal: the rank, the buffer and the index that it is computed from",
                       {k}};
      }
    }
  }
  return std::nullopt;
}

namespace {

// The wait sees a signal of this launch, and needs the next number.
bool is_one_ahead(const WaitGraph& g, const Wait& w) {
  const BlockedRun* run = g.run_of(w);
  if (!run || w.kind != WaitKind::memory || !w.need || w.writes.empty() || w.seen == 0) return false;
  if (w.need->least() != part_of_word(w, w.seen) + 1) return false;
  const PastWrite& last = w.writes.back();
  // A count of arrivals: a block that has ended may be the one that is missing.
  if (last.kind == WriteHistory::Kind::atomic && run->run->finished_blocks != 0) return false;
  return last.kind != WriteHistory::Kind::operation && last.value == w.seen && last.launch == run->launch &&
         last.kernel == mangled_kernel_of(g, w);
}

}  // namespace

// Everything that waits at one line has been signalled, in this launch, and needs one more than it sees: the numbers do
// not agree, whatever else waits.
Found waits_ahead(const WaitGraph& g) {
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    if (!is_one_ahead(g, w)) continue;
    const bool all = std::ranges::all_of(g.waits, [&](const Wait& o) {
      if (o.kind != WaitKind::memory || o.run == Wait::kNone) return true;
      const bool same_line =
          o.location.ptx_line == w.location.ptx_line && mangled_kernel_of(g, o) == mangled_kernel_of(g, w);
      return !same_line || is_one_ahead(g, o);
    });
    if (!all) continue;
    return Finding{
        Cause::epochs_differ,
        fmt::format("{} {}{}; {} is the signal of this launch, by {}, and every wait at this line is one "
                    "ahead of the signal that it sees",
                    name_of(g, w), needs(w), at_location(w), part_of_word(w, w.seen), written_by(w.writes.back())),
        "the number that is waited for: it must be the one that this call's signal writes (epoch, not "
        "epoch + 1), or the signal of the next number must come before the wait",
        {k}};
  }
  return std::nullopt;
}

namespace {

// The kernel that has made a write runs again for this call, or has ended in it.
bool has_come_again(const WaitGraph& g, const PastWrite& write, uint64_t call) {
  return std::ranges::any_of(g.facts.history->grids(), [&](const KnownGrid& grid) {
    return grid.process == write.process && grid.kernel == write.kernel && grid.call == call;
  });
}

std::string left_out_sentence(const WaitGraph& g, const Wait& w, const std::string& why) {
  return fmt::format("{} {}{}; {}", name_of(g, w), needs(w), at_location(w), why);
}

}  // namespace

// The store that writes such words was passed, or its kernel has ended, without a store to this one.
Found left_out(const WaitGraph& g) {
  if (!g.facts.history) return std::nullopt;
  for (size_t k = 0; k < g.waits.size(); ++k) {
    const Wait& w = g.waits[k];
    const BlockedRun* run = g.run_of(w);
    if (!run || w.kind != WaitKind::memory || w.stores.empty() || !w.has_no_writer()) continue;
    // A rank that has not come to this call yet may be the one that signals.
    const bool all_here = std::ranges::all_of(g.facts.ranks, [&](const RankFacts& r) { return r.call >= run->call; });
    if (!all_here) continue;
    const KnownStore& store = w.stores.front();
    const std::string at = store.where.empty() ? "the store" : "the store at " + store.where;
    if (store.evidence == StoreEvidence::this_word) {
      const PastWrite& last = w.writes.back();
      const bool is_of_call_before = run->call != 0 && last.kind == WriteHistory::Kind::store && last.call < run->call;
      if (!is_of_call_before || last.call == 0 || !has_come_again(g, last, run->call)) continue;
      return Finding{
          Cause::never_signalled,
          left_out_sentence(g, w,
                            fmt::format("{} has written it in an earlier call, and has not in this one, and "
                                        "no thread can still come to that store",
                                        written_by(last))),
          fmt::format("the condition under which {} is executed: a thread that is waited for must come to it in every "
                      "call",
                      at),
          {k}};
    }
    const bool by_kernel =
        std::ranges::any_of(w.writes, [](const PastWrite& past) { return past.kind != WriteHistory::Kind::operation; });
    if (by_kernel) continue;
    const std::string last = w.writes.empty() ? "" : fmt::format(" (only {})", w.writes.back().writer);
    if (store.evidence == StoreEvidence::other_ranks)
      return Finding{Cause::never_signalled,
                     left_out_sentence(g, w,
                                       fmt::format("no kernel has ever written it{}, while {} writes the same word of "
                                                   "other ranks",
                                                   last, at)),
                     "which rank should signal this one: at an edge there may be none, and then it must not wait",
                     {k}};
    return Finding{
        Cause::never_signalled,
        left_out_sentence(g, w,
                          fmt::format("no kernel has ever written it{}, while {} has written the words on "
                                      "both sides of it, and no thread can still come to that store",
                                      last, at)),
        fmt::format("the condition under which {} is executed: all threads that are waited for must come to it", at),
        {k}};
  }
  return std::nullopt;
}

}  // namespace fb::machine::rules
