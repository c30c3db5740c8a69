#include "virtual_node/race/clocks/clock.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace fb::race {
namespace {

constexpr size_t kMostSeen = 48;

// Larger sets first: all warps of a block, then warp by warp, all lanes before some.
bool before(const Entry& a, const Entry& b) {
  if (a.block != b.block) return a.block < b.block;
  if (a.warp != b.warp) return a.warp < b.warp;
  return a.lanes > b.lanes;
}
bool same_set(const Entry& a, const Entry& b) { return a.block == b.block && a.warp == b.warp && a.lanes == b.lanes; }
bool stream_before(const StreamEpoch& a, const StreamEpoch& b) { return a.stream < b.stream; }
bool seen_before(const SeenWrite& a, const SeenWrite& b) {
  return a.line != b.line ? std::less<>()(a.line, b.line) : a.offset < b.offset;
}
bool same_address(const SeenWrite& a, const SeenWrite& b) { return a.line == b.line && a.offset == b.offset; }

// Appends entries that come in order, drops those that others cover, and unites lanes of a warp with the same epoch:
// lanes that release with one instruction become one entry again.
class Builder {
 public:
  explicit Builder(std::vector<Entry>& out) : out_(out) {}
  ~Builder() { finish_warp(); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  void add(const Entry& e) {
    if (e.block != block_ || e.warp != warp_) {
      finish_warp();
      if (e.block != block_) block_epoch_ = 0;
      block_ = e.block;
      warp_ = e.warp;
      begin_ = out_.size();
    }
    if (e.epoch <= block_epoch_) return;
    for (size_t k = begin_; k < out_.size(); ++k) {
      Entry& known = out_[k];
      if (known.epoch >= e.epoch && (e.lanes & ~known.lanes) == 0) return;
      if (known.epoch == e.epoch) {
        known.lanes |= e.lanes;
        return;
      }
      if (known.lanes == e.lanes) {
        known.epoch = std::max(known.epoch, e.epoch);
        return;
      }
    }
    out_.push_back(e);
  }

 private:
  // Sorts the entries of one warp, or of the block as a whole, when all have been added.
  void finish_warp() {
    if (out_.size() == begin_) return;
    if (out_.size() > begin_ + 1) {
      const auto first = out_.begin() + static_cast<std::ptrdiff_t>(begin_);
      std::sort(first, out_.end(), [](const Entry& a, const Entry& b) {
        return a.lanes != b.lanes ? a.lanes > b.lanes : a.epoch > b.epoch;
      });
      // An entry that was united with others may cover another one now.
      const std::vector<Entry> all(first, out_.end());
      out_.erase(first, out_.end());
      for (const Entry& e : all) {
        const auto covers_it = [&](const Entry& other) {
          return &other != &e && (e.lanes & ~other.lanes) == 0 &&
                 (other.epoch > e.epoch || (other.epoch == e.epoch && &other < &e));
        };
        if (std::ranges::none_of(all, covers_it)) out_.push_back(e);
      }
    }
    if (warp_ == kAllWarps) block_epoch_ = out_[begin_].epoch;
  }

  std::vector<Entry>& out_;
  BlockId block_ = 0;
  uint16_t warp_ = kAllWarps;
  size_t begin_ = 0;       // of this warp's entries
  Epoch block_epoch_ = 0;  // covered of all warps
};

// f(a or null, b or null) for each key in either list, in order.
template <class T, class Before, class F>
void merge(const std::vector<T>& a, const std::vector<T>& b, Before is_before, F f) {
  auto i = a.begin();
  auto k = b.begin();
  while (i != a.end() || k != b.end()) {
    if (k == b.end() || (i != a.end() && is_before(*i, *k))) {
      f(&*i++, static_cast<const T*>(nullptr));
    } else if (i == a.end() || is_before(*k, *i)) {
      f(static_cast<const T*>(nullptr), &*k++);
    } else {
      f(&*i++, &*k++);
    }
  }
}

bool covers(const Entries& entries, BlockId block, uint16_t warp, Mask lanes, Epoch epoch) {
  auto at = std::ranges::lower_bound(entries, block, {}, &Entry::block);
  for (; at != entries.end() && at->block == block && lanes != 0; ++at) {
    if (at->warp > warp) break;
    if ((at->warp == kAllWarps || at->warp == warp) && at->epoch >= epoch) lanes &= ~at->lanes;
  }
  return lanes == 0;
}

bool covers(const Entries& entries, const Entries& others) {
  // Most entries of the one are in the other, in the same order.
  auto at = entries.begin();
  return std::ranges::all_of(others, [&](const Entry& e) {
    while (at != entries.end() && before(*at, e)) ++at;
    return (at != entries.end() && same_set(*at, e) && at->epoch >= e.epoch) ||
           covers(entries, e.block, e.warp, e.lanes, e.epoch);
  });
}

EntriesRef compute_join(const EntriesRef& a, const EntriesRef& b) {
  // Most of the time the larger one covers the other.
  if (const bool a_is_larger = a->size() >= b->size(); a_is_larger ? covers(*a, *b) : covers(*b, *a))
    return a_is_larger ? a : b;
  auto both = std::make_shared<Entries>();
  both->reserve(std::max(a->size(), b->size()));
  {
    Builder builder(*both);
    merge(*a, *b, before,
          [&](const Entry* x, const Entry* y) { builder.add(x && (!y || x->epoch >= y->epoch) ? *x : *y); });
  }
  if (*both == *a) return a;
  if (*both == *b) return b;
  return both;
}

EntriesRef join_entries(const EntriesRef& a, const EntriesRef& b, EntriesMemo* memo) {
  if (a == b) return a;
  return memo ? memo->join(a, b, compute_join) : compute_join(a, b);
}

}  // namespace

const Clock::Part* Clock::part(const StreamEpoch& of) const {
  const auto at = std::ranges::lower_bound(parts_, of, {}, &Part::of);
  return at != parts_.end() && at->of == of ? &*at : nullptr;
}

void Clock::add(const StreamEpoch& of, const Entry& entry) {
  if (covers(of)) return;
  const auto at = std::ranges::lower_bound(parts_, of, {}, &Part::of);
  const auto one = std::make_shared<const Entries>(1, entry);
  if (at != parts_.end() && at->of == of) {
    at->entries = compute_join(at->entries, one);
  } else {
    parts_.insert(at, {of, one});
  }
}

void Clock::add(const StreamEpoch& operation) {
  const auto at = std::ranges::lower_bound(streams_, operation.stream, {}, &StreamEpoch::stream);
  if (at != streams_.end() && at->stream == operation.stream) {
    if (at->seq >= operation.seq) return;
    at->seq = operation.seq;
  } else {
    streams_.insert(at, operation);
  }
  std::erase_if(parts_, [&](const Part& p) { return p.of.stream == operation.stream && p.of.seq <= operation.seq; });
}

void Clock::add(const SeenWrite& seen) {
  const auto at = std::ranges::lower_bound(seen_, seen, seen_before);
  if (at != seen_.end() && same_address(*at, seen)) {
    *at = seen;
    return;
  }
  seen_.insert(at, seen);
  // Bounded list: evict the entry with the smallest epoch of its writer.
  if (seen_.size() > kMostSeen) seen_.erase(std::ranges::min_element(seen_, {}, &SeenWrite::epoch));
}

void Clock::forget(const StreamEpoch& of) {
  std::erase_if(parts_, [&](const Part& p) { return p.of == of; });
}

bool Clock::covers(const StreamEpoch& of, BlockId block, uint16_t warp, Mask lanes, Epoch epoch) const {
  if (covers(of)) return true;
  const Part* own = part(of);
  return own && race::covers(*own->entries, block, warp, lanes, epoch);
}

bool Clock::covers(const StreamEpoch& operation) const {
  const auto at = std::ranges::lower_bound(streams_, operation.stream, {}, &StreamEpoch::stream);
  return at != streams_.end() && at->stream == operation.stream && at->seq >= operation.seq;
}

bool Clock::covers(const SeenWrite& seen) const {
  const auto at = std::ranges::lower_bound(seen_, seen, seen_before);
  return at != seen_.end() && *at == seen;
}

bool Clock::covers(const Clock& other) const {
  if (this == &other) return true;
  const auto covers_part = [&](const Part& theirs) {
    if (covers(theirs.of)) return true;
    const Part* own = part(theirs.of);
    return own && (own->entries == theirs.entries || race::covers(*own->entries, *theirs.entries));
  };
  return std::ranges::all_of(other.streams_, [&](const StreamEpoch& e) { return covers(e); }) &&
         std::ranges::all_of(other.seen_, [&](const SeenWrite& s) { return covers(s); }) &&
         std::ranges::all_of(other.parts_, covers_part);
}

size_t Clock::size() const {
  size_t entries = streams_.size();
  for (const Part& p : parts_) entries += p.entries->size();
  return entries;
}

ClockRef Clock::join(const ClockRef& a, const ClockRef& b, EntriesMemo* memo) {
  auto both = std::make_shared<Clock>();
  auto& streams = both->streams_;
  streams.reserve(std::max(a->streams_.size(), b->streams_.size()));
  bool is_a = true, is_b = true;  // most of the time one of them covers the other
  merge(a->streams_, b->streams_, stream_before, [&](const StreamEpoch* x, const StreamEpoch* y) {
    streams.push_back(x && (!y || x->seq >= y->seq) ? *x : *y);
    is_a &= x && *x == streams.back();
    is_b &= y && *y == streams.back();
  });
  auto& parts = both->parts_;
  parts.reserve(std::max(a->parts_.size(), b->parts_.size()));
  merge(a->parts_, b->parts_, part_before, [&](const Part* x, const Part* y) {
    // Covered by the other's streams: then is_a or is_b is false already.
    if (both->covers(x ? x->of : y->of)) return;
    parts.push_back(x ? *x : *y);
    if (x && y) parts.back().entries = join_entries(x->entries, y->entries, memo);
    is_a &= x && x->entries == parts.back().entries;
    is_b &= y && y->entries == parts.back().entries;
  });
  both->seen_ = a->seen_;
  for (const SeenWrite& seen : b->seen_) {
    if (!both->covers(seen)) both->add(seen);
  }
  if (is_a && both->seen_ == a->seen_) return a;
  if (is_b && both->seen_ == b->seen_) return b;
  return both;
}

ClockRef join(const ClockRef& a, const ClockRef& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  return Clock::join(a, b, nullptr);
}

}  // namespace fb::race
