#pragma once

// Words in memory through which agents tell each other something: what the last strong writes carry.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "race/clock.h"
#include "race/mark.h"

namespace fb::race {

// Clocks that travel together: what happened, of that what the asynchronous proxy may rely on, and single writes that
// were seen.
struct Knowledge {
  ClockRef all;
  ClockRef proxied = nullptr;
  ClockRef seen = nullptr;
  friend bool operator==(const Knowledge&, const Knowledge&) = default;  // the same clocks
};

// What a release hands on: what its thread knew, and what its own block had done, down to the thread itself.
struct Handed {
  Knowledge known;
  StreamPlace place;  // of the operation to which the block belongs
  BlockId block = 0;
  uint16_t warp = 0;  // from 1
  Mask lanes = 0;
  Tick of_block = 0;  // all warps, up to the last barrier
  Tick of_warp = 0;   // all lanes, up to the last time they met
  Tick of_lanes = 0;  // the thread itself
  friend bool operator==(const Handed&, const Handed&) = default;
};
// All of it as one clock.
ClockRef everything(const Handed& handed);

// A strong write, and the release (itself, or a fence before it) that it makes visible.
struct Signal {
  Mark write;
  uint32_t lane = 0;
  bool released = false;
  bool merged = false;  // stands for several
  Handed handed;
  ClockRef knew;                    // what the writer knew, released or not
  Scope first_scope = Scope::none;  // of the release or fence
  Site first_site = 0;
};

// The last write, and those before it that read-modify-writes have handed on. One write may stand here several times,
// with fences of different scopes. Shared: one store may write many words, and says the same in all of them.
using Signals = std::vector<Signal>;
using SignalsRef = std::shared_ptr<const Signals>;  // never null

struct Flag {
  uint8_t offset = 0, bytes = 0;  // in its line
  SignalsRef signals;
  SignalsRef before;  // what a reader of the older value finds

  uint32_t end() const { return offset + uint32_t{bytes}; }
};

// The flags of a line, in order. They do not overlap: a write of another size ends what it touches.
class Flags {
 public:
  // Those that have a byte of [begin, end).
  std::span<const Flag> at(uint32_t begin, uint32_t end) const {
    const auto [first, last] = range(begin, end);
    return {flags_.data() + first, last - first};
  }
  // The flag that is exactly these bytes; others that overlap it end.
  Flag& make(uint32_t begin, uint32_t bytes);
  void erase(uint32_t begin, uint32_t end);

 private:
  std::pair<size_t, size_t> range(uint32_t begin, uint32_t end) const {
    const auto first = std::ranges::partition_point(flags_, [&](const Flag& f) { return f.end() <= begin; });
    const auto last = std::ranges::find_if_not(first, flags_.end(), [&](const Flag& f) { return f.offset < end; });
    return {first - flags_.begin(), last - flags_.begin()};
  }

  std::vector<Flag> flags_;
};

}  // namespace fb::race
