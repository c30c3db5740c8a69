#pragma once

// Where sizes are large, races between weak accesses are looked for in a part of the memory only: in pieces that are
// drawn, by their place in an allocation (a byte has other addresses in other processes), and in the shared memory of
// drawn blocks. An access that is left out can't make two others a race; it only leaves out its own. What orders
// accesses (strong accesses, fences, barriers) is followed everywhere.

#include <algorithm>
#include <cstdint>

#include "common/base/hash.h"
#include "virtual_node/race/clocks/options.h"

namespace fb::race {

class LookedAt {
 public:
  explicit LookedAt(const Options& options) : seed_(options.seed), one_in_(options.one_piece_in) {}

  // From now on in one of so many pieces.
  void thin_out(uint32_t one_in) { one_in_ = one_in; }

  bool everywhere() const { return one_in_ <= 1; }
  bool at(uint64_t offset) const { return everywhere() || mix(seed_, {offset / kPiece}) % one_in_ == 0; }

  // The shared memory of a block, as a whole: blocks of a grid run the same code, and wrong synchronisation shows in
  // most of them. That of the first is always looked at, as some grids have few.
  bool at_block(uint64_t grid, uint64_t index) const {
    return everywhere() || index == 0 || mix(seed_, {grid, index}) % one_in_ == 0;
  }

  // f(offset, bytes) for each part of a range that is looked at.
  template <class F>
  void each_part(uint64_t offset, uint64_t bytes, F f) const {
    if (everywhere()) return f(offset, bytes);
    for (const uint64_t end = offset + bytes; offset < end;) {
      const uint64_t next = std::min(end, (offset / kPiece + 1) * kPiece);
      if (at(offset)) f(offset, next - offset);
      offset = next;
    }
  }

 private:
  static constexpr uint64_t kPiece = 1024;  // two accesses of a warp, 16 bytes each
  uint64_t seed_;
  uint32_t one_in_;
};

}  // namespace fb::race
