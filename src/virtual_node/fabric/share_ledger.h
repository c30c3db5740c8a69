#pragma once

// What a moment's time is made of: how much of it scales with each group of constants.
//
// The end of a call is a sum of durations along one chain of causes: a host call, the start of a kernel, instructions,
// the round trip of a load, the wait for a flag that another device has set after a round trip of its own. Each
// duration scales with one group of constants, so that the sums by group are the derivatives of the time. They are
// passed on with the moments themselves: code that computes a moment from an earlier one notes what the time between
// them is spent on. Copies of moments, and the later of two, need no note, because a moment is found again by its
// value: moments are picoseconds, and two that are equal by accident are equally late.
//
// A resource that has been busy for long is the exception: a request that has to queue ends when the resource has
// served all that came before, and not at a fixed time after the request. So a resource remembers the moment since
// which it has been busy without a pause.
//
// A moment that is not found has no shares: the sums of all groups are then less than the time, and the difference is
// what is not known.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "common/platform/group.h"
#include "common/platform/time.h"

namespace fb::fabric {

using platform::Time;

// Picoseconds by group. Group::in_flight is beside the others: the time of round trips that had to be waited for
// because too many bytes were in flight. It is spent on latency or bandwidth, too.
using Shares = std::array<int64_t, platform::kGroups.size()>;

// Since when a resource has been busy.
struct BusyPeriod {
  Time begin = 0;
  Time work = 0;       // what it has served since
  Shares shares = {};  // of `begin`
};

// A request to a resource.
struct Served {
  Time at = 0;
  Time alone = 0;  // when it would have ended without others
  Time end = 0;
  Time work = 0;  // how long the resource is busy with it
};

class ShareLedger {
 public:
  // Times count from here on, which is later than all that was before.
  void begin(Time at);
  void stop() { active_ = false; }
  bool is_active() const { return active_; }

  // `to` is `from` and a duration that scales with the group. `in_flight`: `from` had to be waited for because of a
  // limit on bytes in flight, for a round trip of that length.
  void add(Time from, Time to, platform::Group group, Time in_flight = 0) {
    if (!active_ || to == from) return;
    Shares s = find(from);
    s[static_cast<size_t>(group)] += static_cast<int64_t>(to - from);
    s[static_cast<size_t>(platform::Group::in_flight)] += static_cast<int64_t>(in_flight);
    set(to, s);
  }

  // The sum of both.
  Time later(Time at, Time duration, platform::Group group, Time in_flight = 0) {
    add(at, at + duration, group, in_flight);
    return at + duration;
  }

  // `end` is when a resource has served a request; durations scale with the group.
  void add(BusyPeriod& busy, const Served& request, platform::Group group, Time in_flight = 0) {
    if (active_) add_served(busy, request, group, in_flight);
  }

  // Of a moment in this step. All are 0 where it is not known.
  Shares find(Time at) const {
    for (const Entry& e : sets_[index_of(at)]) {
      if (e.at == at) return e.shares;
    }
    return {};
  }

 private:
  void add_served(BusyPeriod& busy, const Served& request, platform::Group group, Time in_flight);
  struct Entry {
    Time at = 0;
    Shares shares = {};
  };
  static constexpr size_t kWays = 4;
  using Set = std::array<Entry, kWays>;
  static constexpr uint32_t kLogSets = 18;

  static size_t index_of(Time at) { return at * 0x9e3779b97f4a7c15 >> (64 - kLogSets); }

  // Agents are at most some microseconds apart, so that the earliest moment of a set is the one that no one needs.
  void set(Time at, const Shares& shares) {
    Entry* chosen = nullptr;
    for (Entry& e : sets_[index_of(at)]) {
      if (e.at == at) {
        chosen = &e;
        break;
      }
      if (!chosen || e.at < chosen->at) chosen = &e;
    }
    *chosen = {at, shares};
  }

  bool active_ = false;
  Time begin_ = 0;
  // From calloc, so that a short step touches little of it. Empty until it is needed.
  std::unique_ptr<Set[], decltype(&std::free)> sets_{nullptr, &std::free};
};

}  // namespace fb::fabric
