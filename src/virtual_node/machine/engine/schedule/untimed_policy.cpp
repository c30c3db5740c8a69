#include "virtual_node/machine/engine/schedule/untimed_policy.h"

namespace fb::machine {

bool UntimedPolicy::step(EngineSteps& engine) {
  const bool due = engine.is_poll_due();
  if (is_idle() || due) engine.start_a_block_on_each_gpu();
  engine.poll_clock_readers();
  while (starts_block() && engine.start_a_block_on_each_gpu()) {
  }
  const bool idle = is_idle();
  if (EventQueue* events = next_events(idle); events && (idle || due || takes_event())) {
    // A host that polls must not keep warps from running, whatever their priorities.
    const bool makes_room =
        events->front().about.kind == EventAbout::Kind::poll && has_ready_warp() && ++host_polls_ % kRoomForWarps == 0;
    if (!makes_room) {
      engine.fire(events->pop());
      return true;
    }
    engine.run_quantum(pop());
    return true;
  }
  const Copies& copies = engine.copies();
  if (!copies.empty() && (idle || due || copies.size() > kMostCopiesInFlight || takes_copy())) {
    if (const auto copy = next_copy(copies, idle)) {
      engine.perform_copy(*copy);
      return true;
    }
  }
  if (!has_ready_warp()) return false;
  engine.run_quantum(pop());
  return true;
}

}  // namespace fb::machine
