#include "virtual_node/fabric/bandwidth_calendar.h"

#include <cmath>

#include "common/base/check.h"

namespace fb::fabric {

BandwidthCalendar::BandwidthCalendar(double units_per_second)
    : capacity_(static_cast<uint64_t>(units_per_second * 1e-12 * (uint64_t{1} << kShift))),
      time_per_unit_(static_cast<uint64_t>(std::llround(1e12 / units_per_second * (1 << kFraction)))) {
  FB_CHECK(capacity_ > 0 && capacity_ <= UINT32_MAX && time_per_unit_ > 0, "a bandwidth out of range");
}

// Extends the calendar to `slot`.
void BandwidthCalendar::keep(uint64_t slot) {
  if (slot < first_ + kept_) return;
  if (kept_ == 0) {
    FB_CHECK(capacity_ > 0, "no bandwidth");
    calendar_ = std::make_unique<Interval[]>(kIntervals);
    // Half of it for requests that arrive earlier.
    first_ = slot - std::min(slot, kIntervals / 2);
    busy_from_ = first_;
    kept_ = kIntervals;
    return;
  }
  const uint64_t first = slot - kIntervals + 1;
  const uint64_t dropped = std::min(first - first_, kIntervals);
  for (uint64_t k = 0; k < dropped; ++k) {
    Interval& old = interval(first_ + k);
    if (old.skip == 0) busy_from_ = first_ + k + 1;
    old = {};
  }
  if (first - first_ > kIntervals) busy_from_ = first;
  first_ = first;
}

// The first interval from `slot` on that has room; compresses the path for later calls.
uint64_t BandwidthCalendar::with_room(uint64_t slot) {
  keep(slot);
  uint64_t at = slot;
  while (const uint32_t skip = interval(at).skip) {
    const uint64_t next = at + skip;
    if (next >= first_ + kept_) return next;
    interval(at).skip += interval(next).skip;
    at = next;
  }
  return at;
}

Time BandwidthCalendar::reserve_more(Time at, uint64_t units) {
  uint64_t slot = at >> kShift;
  if (slot < first_) {
    if (slot < busy_from_) return at + duration(units);
    slot = first_;
  }
  Time through = at + duration(units);
  while (units > 0) {
    slot = with_room(slot);
    keep(slot);
    Interval& i = interval(slot);
    const uint64_t taken = std::min<uint64_t>(units, capacity_ - i.used);
    i.used += static_cast<uint32_t>(taken);
    units -= taken;
    if (units == 0) through = std::max(through, (slot << kShift) + duration(i.used));
    if (i.used == capacity_) i.skip = 1;
    ++slot;
  }
  return through;
}

}  // namespace fb::fabric
