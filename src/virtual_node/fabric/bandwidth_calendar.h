#pragma once

// A resource of limited bandwidth, in units (bytes, operations) a second: a link, a memory.
//
// Requests need not come in the order of their arrival times: agents run ahead of each other. So bandwidth is a
// calendar of short intervals with a capacity each. A request takes room in the first intervals from its own arrival
// on, regardless of the order of calls; flows that arrive together share the capacity.
//
// The calendar covers some hundred microseconds. Older intervals are dropped; a request from before them is served as
// if it were alone, unless all intervals from then on were full.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "common/platform/time.h"
#include "virtual_node/fabric/share_ledger.h"

namespace fb::fabric {

using platform::Time;

class BandwidthCalendar {
 public:
  // No bandwidth; reserve() must not be called.
  BandwidthCalendar() = default;
  explicit BandwidthCalendar(double units_per_second);

  // When the last of `units` that arrive at `at` has been served.
  Time reserve(Time at, uint64_t units) {
    const uint64_t slot = at >> kShift;
    if (slot - first_ < kept_) [[likely]] {
      Interval& i = calendar_[slot % kIntervals];
      if (i.used + units <= capacity_) [[likely]] {
        i.used += static_cast<uint32_t>(units);
        return std::max(at + duration(units), (slot << kShift) + duration(i.used));
      }
    }
    return reserve_more(at, units);
  }

  // How long `units` take if they are alone.
  Time duration(uint64_t units) const { return units * time_per_unit_ >> kFraction; }

  BusyPeriod period;  // for a ShareLedger

 private:
  static constexpr uint32_t kShift = 17;  // an interval is 131 ns
  static constexpr uint64_t kIntervals = 2048;
  static constexpr uint32_t kFraction = 16;

  struct Interval {
    uint32_t used = 0;
    uint32_t skip = 0;  // if full: slots to skip to the next candidate (path compression); 0: not known to be full
  };

  Time reserve_more(Time at, uint64_t units);
  Interval& interval(uint64_t slot) { return calendar_[slot % kIntervals]; }
  void keep(uint64_t slot);
  uint64_t with_room(uint64_t slot);

  uint64_t first_ = 0;          // the oldest interval that is kept
  uint64_t kept_ = 0;           // how many: none, or kIntervals
  uint64_t busy_from_ = 0;      // intervals from here to first_ were all full
  uint64_t capacity_ = 0;       // units in an interval
  uint64_t time_per_unit_ = 0;  // picoseconds, with kFraction bits behind the point
  std::unique_ptr<Interval[]> calendar_;
};

}  // namespace fb::fabric
