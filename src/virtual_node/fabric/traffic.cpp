#include "virtual_node/fabric/traffic.h"

namespace fb::fabric {

TrafficLog::TrafficLog(uint32_t devices, Time interval) : interval_(interval), series_(devices * kTrafficKinds) {}

void TrafficLog::add(uint32_t device, Traffic kind, Time at, uint64_t bytes) {
  size_t slot = at / interval_;
  for (; slot >= kMostIntervals; slot = at / interval_) widen();
  auto& series = series_[index(device, kind)];
  if (slot >= series.size()) series.resize(slot + 1);
  series[slot] += bytes;
}

void TrafficLog::widen() {
  interval_ *= 2;
  for (auto& series : series_) {
    for (size_t k = 0; k < series.size(); ++k) {
      const uint64_t value = series[k];
      series[k] = 0;
      series[k / 2] += value;
    }
    series.resize((series.size() + 1) / 2);
  }
}

}  // namespace fb::fabric
