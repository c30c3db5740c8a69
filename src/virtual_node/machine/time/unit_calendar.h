#pragma once

// When a unit of a multiprocessor is occupied. Warps run ahead of each other by up to a quantum, so that requests do
// not come in the order of their times: as for links (virtual_node/fabric/bandwidth_calendar.h) there is a calendar of
// short intervals, and a request takes room in the first of them from its own time on. Small, because there are some
// thousands of these: it covers four microseconds; what lies further back is taken to have found room.

#include <algorithm>
#include <array>
#include <cstdint>

#include "virtual_node/fabric/share_ledger.h"

namespace fb::machine {

class UnitCalendar {
 public:
  fabric::BusyPeriod period;

  // When `busy` picoseconds of work that can begin at `at` are done.
  uint64_t reserve(uint64_t at, uint32_t busy) {
    uint64_t slot = at >> kShift;
    if (slot >= first_ + kIntervals) keep(slot);
    if (slot < first_) slot = first_;
    // Within an interval the unit serves what it has in any order: the end is at least the request's own length away.
    uint64_t end = at + busy;
    while (true) {
      if (slot >= first_ + kIntervals) keep(slot);
      uint32_t& used = used_[slot % kIntervals];
      const uint32_t taken = std::min(busy, kInterval - used);
      used += taken;
      busy -= taken;
      if (busy == 0) {
        if (taken != 0) end = std::max(end, (slot << kShift) + used);
        return end;
      }
      ++slot;
    }
  }

 private:
  static constexpr uint32_t kShift = 16;  // 66 ns
  static constexpr uint32_t kInterval = 1u << kShift;
  static constexpr uint64_t kIntervals = 64;

  void keep(uint64_t slot) {
    const uint64_t first = slot - kIntervals + 1 + kIntervals / 4;
    const uint64_t dropped = std::min(first - first_, kIntervals);
    for (uint64_t k = 0; k < dropped; ++k) used_[(first_ + k) % kIntervals] = 0;
    first_ = first;
  }

  uint64_t first_ = 0;
  std::array<uint32_t, kIntervals> used_{};
};

}  // namespace fb::machine
