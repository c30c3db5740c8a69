#include "virtual_node/race/agents/agent_state.h"

namespace fb::race {

void publish(ObservedWrites& observed) {
  for (const auto& published : observed) *published = true;
  observed.clear();
}

void WarpState::acquire(Mask lanes, const SyncClock& acquired, ClockJoiner& joiner) {
  const auto covers = [](const ClockRef& own, const ClockRef& other) { return !other || (own && own->covers(*other)); };
  const bool all_lanes = (live() & ~lanes) == 0;
  if (!all_lanes && covers(clock.all, acquired.all) && covers(clock.async_visible, acquired.async_visible) &&
      covers(clock.seen, acquired.seen))
    return;
  acquire_new(lanes, acquired, joiner);
}

void WarpState::acquire_new(Mask lanes, const SyncClock& acquired, ClockJoiner& joiner) {
  if ((live() & ~lanes) == 0) {
    clock = joiner.join(clock, acquired);
    return;
  }
  for (LaneClock& k : lane_clocks) {
    if (k.lanes != lanes) continue;
    k.clock = joiner.join(k.clock, acquired);
    return;
  }
  lane_clocks.push_back({lanes, acquired});
}

SyncClock WarpState::clock_of(Mask lanes, ClockJoiner& joiner) const {
  SyncClock joined = clock;
  for (const LaneClock& k : lane_clocks) {
    if ((lanes & ~k.lanes) == 0) joined = joiner.join(joined, k.clock);
  }
  return joined;
}

ReleaseClock WarpState::make_release(Mask lanes, ClockJoiner& joiner) const {
  return {clock_of(lanes, joiner),
          block->stream_epoch,
          block->id,
          static_cast<uint16_t>(index + 1),
          lanes,
          block->base,
          base,
          block->epoch};
}

ReleaseClock WarpState::make_joint_release(Mask lanes, ClockJoiner& joiner) const {
  ReleaseClock release = make_release(lanes, joiner);
  for (const LaneClock& k : lane_clocks) {
    if ((k.lanes & lanes) != 0) release.clock = joiner.join(release.clock, k.clock);
  }
  return release;
}

void WarpState::converge(ClockJoiner& joiner) {
  for (const LaneClock& k : lane_clocks) clock = joiner.join(clock, k.clock);
  lane_clocks.clear();
  base = block->epoch++;
}

}  // namespace fb::race
