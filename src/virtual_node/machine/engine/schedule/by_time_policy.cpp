#include "virtual_node/machine/engine/schedule/by_time_policy.h"

namespace fb::machine {

bool ByTimePolicy::step(EngineSteps& engine) {
  engine.poll_clock_readers();
  if (!events_.empty() && (ready_.empty() || events_.front().at <= ready_.front_key())) {
    engine.fire(events_.pop());
    return true;
  }
  if (ready_.empty()) return false;
  engine.run_quantum(ready_.pop());
  return true;
}

// A quarter of all blocks, for a nanosecond to eight microseconds: shorter and longer than a trip to a peer.
Time ByTimePolicy::draw_start_delay() {
  constexpr uint64_t kOneIn = 4, kLargestPower = 13;
  constexpr Time kNanosecond = 1000;
  if (!delays_ || rng_.below(kOneIn) != 0) return 0;
  return (kNanosecond << rng_.below(kLargestPower + 1)) + rng_.below(kNanosecond);
}

void ByTimePolicy::on_room(EngineSteps& engine, uint32_t gpu) { engine.start_all_blocks(gpu); }

void ByTimePolicy::on_copy(EngineSteps& engine, const simt::AsyncCopy& copy) { engine.perform_on_arrival(copy); }

}  // namespace fb::machine
