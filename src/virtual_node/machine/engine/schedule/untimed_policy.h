#pragma once

// The step that first-come and drawn schedules share: new blocks, events and copies come in when no warp can run, and
// every so often, because warps that poll with a counter never stop. Drawn schedules also let them in between quanta,
// and often start several blocks at once, so that blocks overlap.

#include <cstddef>
#include <optional>

#include "virtual_node/machine/engine/schedule/schedule_policy.h"

namespace fb::machine {

class UntimedPolicy : public SchedulePolicy {
 public:
  bool step(EngineSteps& engine) final;

 protected:
  using Copies = EngineSteps::Copies;
  static constexpr size_t kMostCopiesInFlight = 64;

 private:
  static constexpr uint32_t kRoomForWarps = 3;

  // No warp can run, or only those that are held back.
  virtual bool is_idle() const { return !has_ready_warp(); }
  virtual simt::Warp& pop() = 0;
  // Whether one more block is started, an event is fired, or a copy is performed now, although warps can run.
  virtual bool starts_block() { return false; }
  virtual bool takes_event() { return false; }
  virtual bool takes_copy() { return false; }
  // The queue that the next event comes from; null: no event may be fired yet.
  virtual EventQueue* next_events(bool idle) = 0;
  // The copy to be performed; none: not yet. `copies` is not empty.
  virtual std::optional<size_t> next_copy(const Copies& copies, bool idle) = 0;

  uint32_t host_polls_ = 0;  // answered
};

}  // namespace fb::machine
