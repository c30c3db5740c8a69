#pragma once

// What the warps of a multiprocessor share: the units of its four schedulers, its load/store unit, its port to L2 and
// its L1.

#include <array>
#include <cstdint>
#include <vector>

#include "common/platform/platform.h"
#include "virtual_node/machine/time/caches.h"
#include "virtual_node/machine/time/unit_calendar.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/timing.h"

namespace fb::machine {

struct Multiprocessor {
  static constexpr uint32_t kSchedulers = 4;
  static constexpr auto kOfScheduler = static_cast<uint32_t>(simt::Part::load_store);

  std::array<std::array<UnitCalendar, kOfScheduler>, kSchedulers> schedulers;
  UnitCalendar load_store;
  UnitCalendar l2_port;
  L1Cache l1;
  uint32_t acquired = 0;  // how often L1 was emptied

  UnitCalendar& tensor(uint32_t scheduler) { return schedulers[scheduler][static_cast<size_t>(simt::Part::tensor)]; }
};

inline uint32_t scheduler_of(const simt::Warp& w) {
  return (w.block().first_scheduler + w.index()) % Multiprocessor::kSchedulers;
}

class Multiprocessors {
 public:
  explicit Multiprocessors(const platform::Platform& platform)
      : sms_(platform.device.sms), devices_(platform.devices()) {}

  Multiprocessor& of(const simt::Block& block) { return at(block.device, block.sm); }
  Multiprocessor& at(uint32_t device, uint32_t sm) {
    auto& all = devices_[device];
    if (all.empty()) [[unlikely]]
      all = std::vector<Multiprocessor>(sms_);
    return all[sm];
  }

  // The units that a warp has used since its clock was settled are reserved. When the last of them is done, and which
  // it is.
  struct Settled {
    uint64_t end = 0;
    simt::Part slowest = simt::Part::issue;
  };
  Settled settle(const simt::Warp& w, fabric::ShareLedger& shares);

 private:
  uint32_t sms_;
  std::vector<std::vector<Multiprocessor>> devices_;  // a device's when it is first used
};

}  // namespace fb::machine
