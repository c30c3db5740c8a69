#include "virtual_node/race/sync/sync_fences.h"

#include <memory>
#include <utility>
#include <vector>

namespace fb::race {

void FenceSync::fence(WarpState& s, const simt::Sync& sync) {
  if (s.traits[sync.inst->origin].proxy_fence) return proxy_fence(s, sync.lanes);
  if (sync.order == MemoryOrder::weak || s.traits[sync.inst->origin].fences_mbarriers) return;
  if (acquires(sync.order)) acquire(s, sync);
  if (!releases(sync.order)) return;
  if (sync.order == MemoryOrder::sc) join_sc_order(s, sync.lanes, sync.scope);
  // The last fence of each scope counts. Lanes with different clocks have fences of their own.
  for (FenceRecord& f : s.fences) {
    if (f.scope == sync.scope) f.lanes &= ~sync.lanes;
  }
  std::erase_if(s.fences, [](const FenceRecord& f) { return f.lanes == 0; });
  const Site site = s.first_site + sync.inst->origin;
  const auto record = [&](Mask lanes) {
    s.fences.push_back({lanes, sync.scope, site, s.make_release(lanes, state_.joiner)});
  };
  if (s.lane_clocks.empty()) {
    record(sync.lanes);
  } else {
    each_lane(sync.lanes, [&](uint32_t lane) { record(Mask{1} << lane); });
  }
  publish(s.observed);
  ++s.block->epoch;
}

void FenceSync::acquire(WarpState& s, const simt::Sync& sync) {
  flags_.acquire_at_fence(s, sync.lanes, sync.scope);
  for (LaneClock& waited : s.pending_barriers) {
    if ((waited.lanes & sync.lanes) == 0) continue;
    s.acquire(waited.lanes & sync.lanes, waited.clock, state_.joiner);
    waited.lanes &= ~sync.lanes;
  }
  std::erase_if(s.pending_barriers, [](const LaneClock& waited) { return waited.lanes == 0; });
  if (sync.scope != Scope::sys) return;
  const ClockRef host = state_.hosts.of(state_.agents.operation_of(s.block->id).host);
  if (host) s.acquire(sync.lanes, {host, nullptr}, state_.joiner);
}

// Fences of order sc are in one total order, among those whose scopes include each other.
void FenceSync::join_sc_order(WarpState& s, Mask lanes, Scope scope) {
  BlockState& block = *s.block;
  ClockJoiner& joiner = state_.joiner;
  const uint32_t device = state_.agents.block(block.id).device;
  s.acquire(lanes, block.sc, joiner);
  if (scope >= Scope::gpu) s.acquire(lanes, device_sc_[device], joiner);
  if (scope == Scope::sys) s.acquire(lanes, system_sc_, joiner);
  const SyncClock left = joiner.released(s.make_joint_release(lanes, joiner));
  block.sc = joiner.join(block.sc, left);
  if (scope >= Scope::gpu) device_sc_[device] = joiner.join(device_sc_[device], left);
  if (scope == Scope::sys) system_sc_ = joiner.join(system_sc_, left);
}

// From here on the asynchronous proxy sees the writes of these lanes and those that happen before.
void FenceSync::proxy_fence(WarpState& s, Mask lanes) {
  const auto make_visible = [&](Mask these) {
    const ClockRef all = state_.joiner.flatten(s.make_release(these, state_.joiner));
    s.acquire(these, {nullptr, all}, state_.joiner);
  };
  if (s.lane_clocks.empty()) {
    make_visible(lanes);
  } else {
    // Each lane has acquired something of its own.
    each_lane(lanes, [&](uint32_t lane) { make_visible(Mask{1} << lane); });
  }
  ++s.block->epoch;
}

void FenceSync::forget(const StreamEpoch& operation) {
  const auto shorten = [&](ClockRef& clock) {
    if (!clock) return;
    auto kept = std::make_shared<Clock>(*clock);
    kept->forget(operation);
    if (kept->size() != clock->size()) clock = std::move(kept);
  };
  const auto shorten_both = [&](SyncClock& clock) {
    shorten(clock.all);
    shorten(clock.async_visible);
  };
  shorten_both(system_sc_);
  for (auto& [device, clock] : device_sc_) shorten_both(clock);
}

}  // namespace fb::race
