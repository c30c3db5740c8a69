#include "check/clock.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

namespace fb::check {
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

}  // namespace

void Clock::add(const Entry& entry) {
  const auto at = std::upper_bound(entries_.begin(), entries_.end(), entry, before);
  std::vector<Entry> built;
  built.reserve(entries_.size() + 1);
  {
    Builder builder(built);
    for (auto e = entries_.begin(); e != at; ++e) builder.add(*e);
    builder.add(entry);
    for (auto e = at; e != entries_.end(); ++e) builder.add(*e);
  }
  entries_ = std::move(built);
}

void Clock::add(const StreamPlace& place) {
  const auto at = std::ranges::lower_bound(streams_, place, stream_before);
  if (at != streams_.end() && at->stream == place.stream) {
    at->time = std::max(at->time, place.time);
  } else {
    streams_.insert(at, place);
  }
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

void Clock::join(const Clock& other) {
  if (this == &other) return;
  std::vector<Entry> joined;
  joined.reserve(entries_.size() + other.entries_.size());
  {
    Builder builder(joined);
    merge(entries_, other.entries_, before, [&](const Entry* a, const Entry* b) {
      if (a) builder.add(*a);
      if (b) builder.add(*b);
    });
  }
  entries_ = std::move(joined);
  for (const StreamPlace& place : other.streams_) add(place);
  for (const SeenWrite& seen : other.seen_) {
    if (!covers(seen)) add(seen);
  }
}

bool Clock::covers(BlockId block, uint16_t warp, Mask lanes, Tick tick) const {
  auto at = std::ranges::lower_bound(entries_, block, {}, &Entry::block);
  for (; at != entries_.end() && at->block == block && lanes != 0; ++at) {
    if (at->warp > warp) break;
    if ((at->warp == kAllWarps || at->warp == warp) && at->tick >= tick) lanes &= ~at->lanes;
  }
  return lanes == 0;
}

bool Clock::covers(const StreamPlace& place) const {
  const auto at = std::ranges::lower_bound(streams_, place, stream_before);
  return at != streams_.end() && at->stream == place.stream && at->time >= place.time;
}

bool Clock::covers(const SeenWrite& seen) const {
  const auto at = std::ranges::lower_bound(seen_, seen, seen_before);
  return at != seen_.end() && *at == seen;
}

bool Clock::covers(const Clock& other) const {
  if (this == &other) return true;
  if (!std::ranges::all_of(other.streams_, [&](const StreamPlace& p) { return covers(p); }) ||
      !std::ranges::all_of(other.seen_, [&](const SeenWrite& s) { return covers(s); }))
    return false;
  // Most entries of the one stand in the other, in the same order.
  auto at = entries_.begin();
  for (const Entry& e : other.entries_) {
    while (at != entries_.end() && before(*at, e)) ++at;
    if (at != entries_.end() && same_set(*at, e) && at->tick >= e.tick) continue;
    if (!covers(e.block, e.warp, e.lanes, e.tick)) return false;
  }
  return true;
}

ClockRef really_join(const ClockRef& a, const ClockRef& b) {
  // One way through both; most of the time one of them knows it all.
  auto both = std::make_shared<Clock>();
  both->entries_.reserve(std::max(a->entries_.size(), b->entries_.size()));
  {
    Builder builder(both->entries_);
    merge(a->entries_, b->entries_, before,
          [&](const Entry* x, const Entry* y) { builder.add(x && (!y || x->tick >= y->tick) ? *x : *y); });
  }
  both->streams_ = a->streams_;
  for (const StreamPlace& place : b->streams_) both->add(place);
  both->seen_ = a->seen_;
  for (const SeenWrite& seen : b->seen_) {
    if (!both->covers(seen)) both->add(seen);
  }
  if (*both == *a) return a;
  if (*both == *b) return b;
  return both;
}

namespace {

// What was joined lately. Warps of a block know the same and learn the same: the same two clocks meet again and again.
// Holds on to the clocks, so that an address means what it meant.
class JoinedLately {
 public:
  struct Meeting {
    ClockRef a, b, both;
  };
  Meeting& place_of(const ClockRef& a, const ClockRef& b) {
    const auto x = reinterpret_cast<uintptr_t>(a.get()), y = reinterpret_cast<uintptr_t>(b.get());
    return meetings_[(x * 0x9e3779b97f4a7c15 ^ y * 0xd6e8feb86659fd93) >> 56];
  }

 private:
  std::array<Meeting, 256> meetings_;
};

}  // namespace

ClockRef join(const ClockRef& a, const ClockRef& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  static JoinedLately joined_lately;
  auto& lately = joined_lately.place_of(a, b);
  if (lately.a != a || lately.b != b) lately = {a, b, really_join(a, b)};
  return lately.both;
}

}  // namespace fb::check
