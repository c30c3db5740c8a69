#pragma once

// Bytes by direction, for counters and traces.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/platform/time.h"

namespace fb::fabric {

using platform::Time;

enum class Traffic : uint8_t { peer_out, peer_in, memory, to_host, from_host };
inline constexpr size_t kTrafficKinds = 5;

// Totals of one device, by Traffic.
using Counters = std::array<uint64_t, kTrafficKinds>;

// Bytes by time. When a run grows long, intervals become wider, so that their number stays bounded.
class TrafficLog {
 public:
  TrafficLog(uint32_t devices, Time interval);

  void add(uint32_t device, Traffic kind, Time at, uint64_t bytes);

  Time interval() const { return interval_; }
  // Bytes in each interval from time 0 on; shorter where nothing followed.
  const std::vector<uint64_t>& bytes(uint32_t device, Traffic kind) const { return series_[index(device, kind)]; }

 private:
  static constexpr size_t kMostIntervals = 4096;
  static size_t index(uint32_t device, Traffic kind) { return device * kTrafficKinds + static_cast<size_t>(kind); }
  void widen();

  Time interval_;
  std::vector<std::vector<uint64_t>> series_;
};

}  // namespace fb::fabric
