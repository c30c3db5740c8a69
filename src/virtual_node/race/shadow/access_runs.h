#pragma once

// The lanes of one memory instruction, grouped into runs of consecutive bytes.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "virtual_node/mem/layout.h"
#include "virtual_node/race/shadow/shadow_cell.h"
#include "virtual_node/simt/listener.h"

namespace fb::race {

struct AccessRun {
  mem::Address address = 0;
  uint64_t bytes = 0;
  uint32_t lane = 0;    // the first; of lanes at the same address the last
  uint32_t spread = 0;  // ShadowCell::spread
  Mask lanes = 0;
};

inline uint32_t log2_of(uint32_t bytes) { return static_cast<uint32_t>(std::bit_width(bytes) - 1); }

// Whether two lanes store equal bytes.
inline bool store_the_same(const simt::Access& access, uint32_t i, uint32_t j) {
  const uint32_t element = access.element == 0 ? access.bytes : access.element;
  for (uint32_t n = 0; n < access.bytes / element; ++n) {
    const auto* row = static_cast<const std::byte*>(access.values[n]);
    if (std::memcmp(row + uint64_t{i} * element, row + uint64_t{j} * element, element) != 0) return false;
  }
  return true;
}

// f(const AccessRun&) for each run. Lanes of a load or an atomic at the same address are one run. Returns whether the
// runs are in ascending order, so that no two overlap.
template <class F>
bool each_run(const simt::Access& access, F f) {
  const mem::Address* a = access.addresses;
  const uint32_t bytes = access.bytes;
  bool ascending = true;
  mem::Address last_end = 0;
  for (Mask left = access.lanes; left != 0;) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint32_t n = 1;
    while (lane + n < simt::kLanes && (access.lanes >> (lane + n) & 1) != 0 &&
           a[lane + n] == a[lane] + uint64_t{n} * bytes)
      ++n;
    const Mask taken = n == simt::kLanes ? simt::kAllLanes : ((Mask{1} << n) - 1) << lane;
    AccessRun run{a[lane], uint64_t{n} * bytes, lane, n > 1 ? log2_of(bytes) : kOneLane, taken};
    if (n == 1 && access.kind != AccessKind::store) {
      Mask same = 0;
      for (Mask m = left; m != 0; m &= m - 1) {
        const auto other = static_cast<uint32_t>(std::countr_zero(m));
        same |= Mask{a[other] == a[lane]} << other;
      }
      if (same != taken) {
        // Named by its last lane: what lanes read together is most often written by their first.
        run.lane = static_cast<uint32_t>(std::bit_width(same) - 1);
        run.spread = kEveryLane;
        run.lanes = same;
      }
    }
    ascending &= run.address >= last_end;
    last_end = run.address + run.bytes;
    f(run);
    left &= ~run.lanes;
  }
  return ascending;
}

}  // namespace fb::race
