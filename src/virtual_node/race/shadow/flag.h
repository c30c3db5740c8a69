#pragma once

// Words in memory through which agents synchronise, and the releases that the last strong writes to them carry.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "virtual_node/race/clocks/sync_clock.h"
#include "virtual_node/race/shadow/shadow_cell.h"

namespace fb::race {

// A strong write, and the release (itself, or a fence before it) that it makes visible.
struct Release {
  ShadowCell write;
  uint32_t lane = 0;
  bool has_release = false;  // false: a relaxed write without a fence before it
  bool merged = false;       // stands for several
  ReleaseClock clock;
  ClockRef writer_clock;              // with or without a release
  Epoch writer_base = 0;              // accesses of the writer's block up to here happen before the write
  Scope release_scope = Scope::none;  // of the release or fence
  Site release_site = 0;
};

// The last write, and the releases before it that read-modify-writes carry on (the release sequence). One write may be
// here several times, with fences of different scopes. Shared: one store may write many words.
using Releases = std::vector<Release>;
using ReleasesRef = std::shared_ptr<const Releases>;  // never null

struct Flag {
  uint8_t offset = 0, bytes = 0;  // in its line
  ReleasesRef releases;
  ReleasesRef previous;  // for a reader of the value before the last write

  uint32_t end() const { return offset + uint32_t{bytes}; }
};

// The flags of a line, in order. They do not overlap: a write of another size removes the flags that it touches.
class Flags {
 public:
  // Those that have a byte of [begin, end).
  std::span<const Flag> at(uint32_t begin, uint32_t end) const {
    const auto [first, last] = range(begin, end);
    return {flags_.data() + first, last - first};
  }
  // The flag of exactly these bytes; others that overlap it are removed.
  Flag& make(uint32_t begin, uint32_t bytes);
  void erase(uint32_t begin, uint32_t end);
  bool empty() const { return flags_.empty(); }

 private:
  std::pair<size_t, size_t> range(uint32_t begin, uint32_t end) const {
    const auto first = std::ranges::partition_point(flags_, [&](const Flag& f) { return f.end() <= begin; });
    const auto last = std::ranges::find_if_not(first, flags_.end(), [&](const Flag& f) { return f.offset < end; });
    return {first - flags_.begin(), last - flags_.begin()};
  }

  std::vector<Flag> flags_;
};

}  // namespace fb::race
