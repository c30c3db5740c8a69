#include "virtual_node/race/clocks/sync_clock.h"

#include <memory>
#include <utility>

namespace fb::race {

ClockRef ClockJoiner::join(const ClockRef& a, const ClockRef& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  return clocks_.join(a, b, [&](const ClockRef& x, const ClockRef& y) { return compute_join(x, y); });
}

ClockRef ClockJoiner::compute_join(const ClockRef& a, const ClockRef& b) {
  work_ += a->size() + b->size();
  return Clock::join(a, b, &entries_);
}

SyncClock ClockJoiner::join(const SyncClock& a, const SyncClock& b) {
  return {join(a.all, b.all), join(a.async_visible, b.async_visible), join(a.seen, b.seen)};
}

ClockRef ClockJoiner::flatten(const ReleaseClock& release) {
  uint64_t mixed = release.lane_epoch * 0x9e3779b97f4a7c15 ^ release.block * 0xd6e8feb86659fd93;
  mixed = (mixed ^ (uint64_t{release.warp} << 32 | release.lanes)) * 0xbf58476d1ce4e5b9;
  Flattened& slot = flattened_[mixed >> 56];
  if (!slot.flat || slot.release != release) slot = {release, compute_flat(release)};
  return slot.flat;
}

ClockRef ClockJoiner::compute_flat(const ReleaseClock& release) {
  // Where hundreds of blocks synchronise with each other, one thread stands for its block: a race that only the threads
  // of one block tell apart shows with fewer ranks and blocks as well.
  constexpr size_t kLarge = 256;
  auto own = std::make_shared<Clock>();
  const auto add = [&](uint16_t warp, Mask lanes, Epoch epoch) {
    if (epoch != 0) own->add(release.of, Entry{release.block, warp, lanes, epoch});
  };
  const ClockRef& all = release.clock.all;
  if (all && all->size() > kLarge) {
    add(kAllWarps, simt::kAllLanes, release.lane_epoch);
  } else {
    add(kAllWarps, simt::kAllLanes, release.block_epoch);
    add(release.warp, simt::kAllLanes, release.warp_epoch);
    add(release.warp, release.lanes, release.lane_epoch);
  }
  return all ? compute_join(all, own) : own;
}

SyncClock ClockJoiner::released(const ReleaseClock& release) {
  return {flatten(release), release.clock.async_visible, release.clock.seen};
}

}  // namespace fb::race
