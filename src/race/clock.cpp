#include "race/clock.h"

#include <algorithm>
#include <array>
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
bool stream_before(const StreamPlace& a, const StreamPlace& b) { return a.stream < b.stream; }
bool seen_before(const SeenWrite& a, const SeenWrite& b) {
  return a.line != b.line ? std::less<>()(a.line, b.line) : a.offset < b.offset;
}
bool same_place(const SeenWrite& a, const SeenWrite& b) { return a.line == b.line && a.offset == b.offset; }

// Puts entries in order behind each other, leaves out what others of them say already, and makes one entry of lanes of
// a warp that are known up to the same tick: lanes that signal with one instruction come back as a warp.
class Builder {
 public:
  explicit Builder(std::vector<Entry>& out) : out_(out) {}
  ~Builder() { finish_warp(); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  void add(const Entry& e) {
    if (e.block != block_ || e.warp != warp_) {
      finish_warp();
      if (e.block != block_) of_block_ = 0;
      block_ = e.block;
      warp_ = e.warp;
      begin_ = out_.size();
    }
    if (e.tick <= of_block_) return;
    for (size_t k = begin_; k < out_.size(); ++k) {
      Entry& known = out_[k];
      if (known.tick >= e.tick && (e.lanes & ~known.lanes) == 0) return;
      if (known.tick == e.tick) {
        known.lanes |= e.lanes;
        return;
      }
      if (known.lanes == e.lanes) {
        known.tick = std::max(known.tick, e.tick);
        return;
      }
    }
    out_.push_back(e);
  }

 private:
  // Entries of one warp, or of the block as a whole, stand in order when there are no more.
  void finish_warp() {
    if (out_.size() == begin_) return;
    if (out_.size() > begin_ + 1) {
      const auto first = out_.begin() + static_cast<std::ptrdiff_t>(begin_);
      std::sort(first, out_.end(), [](const Entry& a, const Entry& b) {
        return a.lanes != b.lanes ? a.lanes > b.lanes : a.tick > b.tick;
      });
      // What grew by others' lanes may say all that another one says.
      const std::vector<Entry> all(first, out_.end());
      out_.erase(first, out_.end());
      for (const Entry& e : all) {
        const auto says_it = [&](const Entry& other) {
          return &other != &e && (e.lanes & ~other.lanes) == 0 &&
                 (other.tick > e.tick || (other.tick == e.tick && &other < &e));
        };
        if (std::ranges::none_of(all, says_it)) out_.push_back(e);
      }
    }
    if (warp_ == kAllWarps) of_block_ = out_[begin_].tick;
  }

  std::vector<Entry>& out_;
  BlockId block_ = 0;
  uint16_t warp_ = kAllWarps;
  size_t begin_ = 0;   // of this warp's entries
  Tick of_block_ = 0;  // what all warps are known up to
};

// f(a or null, b or null) for each place in either list, in order.
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

// What was joined lately. Warps of a block know the same and learn the same: the same two meet again and again. Holds
// on to them, so that an address means what it meant.
template <class T>
class JoinedLately {
 public:
  using Ref = std::shared_ptr<const T>;

  template <class Join>
  const Ref& join(const Ref& a, const Ref& b, Join really) {
    const auto x = reinterpret_cast<uintptr_t>(a.get()), y = reinterpret_cast<uintptr_t>(b.get());
    Meeting& lately = meetings_[(x * 0x9e3779b97f4a7c15 ^ y * 0xd6e8feb86659fd93) >> 54];
    if (lately.a != a || lately.b != b) lately = {a, b, really(a, b)};
    return lately.both;
  }

 private:
  struct Meeting {
    Ref a, b, both;
  };
  std::array<Meeting, 1024> meetings_;
};

EntriesRef really_join_entries(const EntriesRef& a, const EntriesRef& b) {
  auto both = std::make_shared<Entries>();
  both->reserve(std::max(a->size(), b->size()));
  {
    Builder builder(*both);
    merge(*a, *b, before,
          [&](const Entry* x, const Entry* y) { builder.add(x && (!y || x->tick >= y->tick) ? *x : *y); });
  }
  if (*both == *a) return a;
  if (*both == *b) return b;
  return both;
}

EntriesRef join_entries(const EntriesRef& a, const EntriesRef& b) {
  if (a == b) return a;
  static JoinedLately<Entries> joined_lately;
  return joined_lately.join(a, b, really_join_entries);
}

bool covers(const Entries& entries, BlockId block, uint16_t warp, Mask lanes, Tick tick) {
  auto at = std::ranges::lower_bound(entries, block, {}, &Entry::block);
  for (; at != entries.end() && at->block == block && lanes != 0; ++at) {
    if (at->warp > warp) break;
    if ((at->warp == kAllWarps || at->warp == warp) && at->tick >= tick) lanes &= ~at->lanes;
  }
  return lanes == 0;
}

bool covers(const Entries& entries, const Entries& others) {
  // Most entries of the one stand in the other, in the same order.
  auto at = entries.begin();
  return std::ranges::all_of(others, [&](const Entry& e) {
    while (at != entries.end() && before(*at, e)) ++at;
    return (at != entries.end() && same_set(*at, e) && at->tick >= e.tick) ||
           covers(entries, e.block, e.warp, e.lanes, e.tick);
  });
}

}  // namespace

const Clock::Part* Clock::part(const StreamPlace& of) const {
  const auto at = std::ranges::lower_bound(parts_, of, {}, &Part::of);
  return at != parts_.end() && at->of == of ? &*at : nullptr;
}

void Clock::add(const StreamPlace& of, const Entry& entry) {
  if (covers(of)) return;
  const auto at = std::ranges::lower_bound(parts_, of, {}, &Part::of);
  const auto one = std::make_shared<const Entries>(1, entry);
  if (at != parts_.end() && at->of == of) {
    at->entries = really_join_entries(at->entries, one);
  } else {
    parts_.insert(at, {of, one});
  }
}

void Clock::add(const StreamPlace& place) {
  const auto at = std::ranges::lower_bound(streams_, place.stream, {}, &StreamPlace::stream);
  if (at != streams_.end() && at->stream == place.stream) {
    if (at->time >= place.time) return;
    at->time = place.time;
  } else {
    streams_.insert(at, place);
  }
  std::erase_if(parts_, [&](const Part& p) { return p.of.stream == place.stream && p.of.time <= place.time; });
}

void Clock::add(const SeenWrite& seen) {
  const auto at = std::ranges::lower_bound(seen_, seen, seen_before);
  if (at != seen_.end() && same_place(*at, seen)) {
    *at = seen;
    return;
  }
  seen_.insert(at, seen);
  // Who has seen so many forgets the one that is oldest by its writer's time.
  if (seen_.size() > kMostSeen) seen_.erase(std::ranges::min_element(seen_, {}, &SeenWrite::tick));
}

void Clock::forget(const StreamPlace& of) {
  std::erase_if(parts_, [&](const Part& p) { return p.of == of; });
}

bool Clock::covers(const StreamPlace& of, BlockId block, uint16_t warp, Mask lanes, Tick tick) const {
  if (covers(of)) return true;
  const Part* known = part(of);
  return known && race::covers(*known->entries, block, warp, lanes, tick);
}

bool Clock::covers(const StreamPlace& place) const {
  const auto at = std::ranges::lower_bound(streams_, place.stream, {}, &StreamPlace::stream);
  return at != streams_.end() && at->stream == place.stream && at->time >= place.time;
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
  return std::ranges::all_of(other.streams_, [&](const StreamPlace& p) { return covers(p); }) &&
         std::ranges::all_of(other.seen_, [&](const SeenWrite& s) { return covers(s); }) &&
         std::ranges::all_of(other.parts_, covers_part);
}

size_t Clock::size() const {
  size_t entries = streams_.size();
  for (const Part& p : parts_) entries += p.entries->size();
  return entries;
}

ClockRef really_join(const ClockRef& a, const ClockRef& b) {
  auto both = std::make_shared<Clock>();
  auto& streams = both->streams_;
  streams.reserve(std::max(a->streams_.size(), b->streams_.size()));
  bool is_a = true, is_b = true;  // most of the time one of them knows it all
  merge(a->streams_, b->streams_, stream_before, [&](const StreamPlace* x, const StreamPlace* y) {
    streams.push_back(x && (!y || x->time >= y->time) ? *x : *y);
    is_a &= x && *x == streams.back();
    is_b &= y && *y == streams.back();
  });
  auto& parts = both->parts_;
  parts.reserve(std::max(a->parts_.size(), b->parts_.size()));
  merge(a->parts_, b->parts_, Clock::part_before, [&](const Clock::Part* x, const Clock::Part* y) {
    // What the other's streams know as a whole: then the two differ in their streams already.
    if (both->covers(x ? x->of : y->of)) return;
    parts.push_back(x ? *x : *y);
    if (x && y) parts.back().entries = join_entries(x->entries, y->entries);
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
  static JoinedLately<Clock> joined_lately;
  return joined_lately.join(a, b, really_join);
}

}  // namespace fb::race
