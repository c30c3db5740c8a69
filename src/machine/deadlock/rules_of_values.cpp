// Signals that were overwritten, lost, misplaced, or of another epoch.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "machine/deadlock/rules.h"

namespace fb::machine::rules {

namespace {

std::string reset_sentence(const WaitGraph& g, const Wait& w, const PastWrite& there, const PastWrite& over) {
  return fmt::format("{} {}{}; {} was there, written by {}, and was overwritten with {} by {} before it was seen here",
                     name_of(g, w), needs(w), at_location(w), there.value.value_or(0), written_by(there),
                     over.value ? fmt::format("{}", *over.value) : "something else", written_by(over));
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
      const bool is_signal = over.kind == WriteHistory::Kind::store && over.value && *over.value != 0;
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
    if (last.kind != WriteHistory::Kind::store || last.value != w.seen || !w.has_no_writer()) continue;
    // A value of an earlier launch says only that there was no signal in this one.
    const BlockedRun* run = g.run_of(w);
    if (run && last.kernel == mangled_kernel_of(g, w) && last.launch < run->launch) continue;
    return Finding{
        Cause::epochs_differ,
        fmt::format("{} {}{}; the last signal was {}, by {}", name_of(g, w), needs(w), at_location(w), w.seen,
                    written_by(last)),
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
  if (w.need->least() != w.seen + 1) return false;
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
    return Finding{Cause::epochs_differ,
                   fmt::format("{} {}{}; {} is the signal of this launch, by {}, and every wait at this line is one "
                               "ahead of the signal that it sees",
                               name_of(g, w), needs(w), at_location(w), w.seen, written_by(w.writes.back())),
                   "the number that is waited for: it must be the one that this call's signal writes (epoch, not "
                   "epoch + 1), or the signal of the next number must come before the wait",
                   {k}};
  }
  return std::nullopt;
}

}  // namespace fb::machine::rules
