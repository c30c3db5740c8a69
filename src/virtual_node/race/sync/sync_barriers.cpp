#include "virtual_node/race/sync/sync_barriers.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "virtual_node/mem/layout.h"

namespace fb::race {

void BarrierSync::warp_barrier(WarpState& s, const simt::Sync& sync) {
  const Mask live = s.live();
  const Mask members = sync.id & live;
  s.arrived |= sync.lanes;
  if ((members & ~s.arrived) != 0) return;  // not complete
  s.arrived &= ~members;
  publish(s.observed);
  if ((live & ~members) == 0) return s.converge(state_.joiner);
  // Some lanes of the warp: each acquires from every other of them.
  SyncClock joined;
  for (const LaneClock& k : s.lane_clocks) {
    if ((k.lanes & members) != 0) joined = state_.joiner.join(joined, k.clock);
  }
  auto own = std::make_shared<Clock>();
  own->add(s.block->stream_epoch, Entry{s.block->id, static_cast<uint16_t>(s.index + 1), members, s.block->epoch++});
  joined.all = state_.joiner.join(joined.all, std::move(own));
  s.acquire(members, joined, state_.joiner);
}

void BarrierSync::block_arrive(WarpState& s, const simt::Sync& sync) {
  BarrierClock& barrier = s.block->barriers[sync.id];
  if (std::exchange(barrier.complete, false)) {
    barrier.clock = barrier.last = {};
    barrier.arrived.clear();
    barrier.passed = false;
  }
  publish(s.observed);
  // Most warps of a block have the same clock.
  if (std::exchange(barrier.last, s.clock) != s.clock) barrier.clock = state_.joiner.join(barrier.clock, s.clock);
  for (const LaneClock& k : s.lane_clocks) {
    if ((k.lanes & sync.lanes) != 0) barrier.clock = state_.joiner.join(barrier.clock, k.clock);
  }
  barrier.arrived.push_back({s.block->id, static_cast<uint16_t>(s.index + 1), sync.lanes, s.block->epoch});
  if (!s.traits[sync.inst->origin].passes_barrier) return;
  // bar.arrive: what this warp does from here on is not ordered by the barrier, in neither direction.
  barrier.passed = true;
  ++s.block->epoch;
}

void BarrierSync::block_release(WarpState& s, const simt::Sync& sync) {
  BlockState& block = *s.block;
  BarrierClock& barrier = block.barriers[sync.id];
  if (!std::exchange(barrier.complete, true)) complete(block, barrier);
  if ((s.live() & ~sync.lanes) == 0) {
    s.clock = barrier.clock;  // the clocks of all its lanes are in there
    s.lane_clocks.clear();
    s.base = std::max(s.base, block.epoch - 1);
  } else {
    s.acquire(sync.lanes, barrier.clock, state_.joiner);
  }
}

// At the first release: all participants have arrived.
void BarrierSync::complete(BlockState& block, BarrierClock& barrier) {
  std::vector<Mask> arrived(block.warps.size());
  for (const Entry& e : barrier.arrived) arrived[e.warp - 1u] |= e.lanes;
  bool all = !barrier.passed;
  for (size_t k = 0; k < block.warps.size(); ++k) {
    // Lanes that exited without arriving are not ordered by the barrier.
    if (block.warps[k]) all &= (block.warps[k]->warp->present() & ~arrived[k]) == 0;
  }
  if (all) {
    block.base = block.epoch;
  } else {
    auto own = barrier.clock.all ? std::make_shared<Clock>(*barrier.clock.all) : std::make_shared<Clock>();
    for (const Entry& e : barrier.arrived) own->add(block.stream_epoch, e);
    barrier.clock.all = std::move(own);
  }
  ++block.epoch;
}

// A release into the clock of a barrier: of all that these lanes have done, acquired included; a relaxed arrival only
// of what fences before it release.
void BarrierSync::arrive(WarpState& s, const simt::Sync& sync, BarrierClock& barrier) {
  const auto add = [&](const ReleaseClock& release) {
    barrier.clock = state_.joiner.join(barrier.clock, state_.joiner.released(release));
  };
  if (releases(sync.order)) {
    publish(s.observed);
    add(s.make_joint_release(sync.lanes, state_.joiner));
  } else {
    for (const FenceRecord& fence : s.fences) {
      if ((fence.lanes & sync.lanes) != 0) add(fence.clock);
    }
  }
  ++s.block->epoch;
}

void BarrierSync::wait(WarpState& s, const simt::Sync& sync, const BarrierClock& barrier) {
  if (acquires(sync.order)) return s.acquire(sync.lanes, barrier.clock, state_.joiner);
  for (LaneClock& waited : s.pending_barriers) {
    if (waited.lanes != sync.lanes) continue;
    waited.clock = state_.joiner.join(waited.clock, barrier.clock);
    return;
  }
  s.pending_barriers.push_back({sync.lanes, barrier.clock});
}

void BarrierSync::cluster_barrier(WarpState& s, const simt::Sync& sync) {
  const simt::Cluster& cluster = s.warp->block().barrier_cluster();
  ClusterState& state = state_.live.cluster_of(*s.block);
  if (sync.kind == simt::SyncKind::cluster_arrive) {
    BarrierClock& barrier = state.phases[cluster.phase & 1];
    if (barrier.phase != cluster.phase) barrier = {};
    barrier.phase = cluster.phase;
    arrive(s, sync, barrier);
  } else {
    // The phase that has just ended is the one before the cluster's.
    wait(s, sync, state.phases[(cluster.phase - 1) & 1]);
  }
}

void BarrierSync::mbarrier(WarpState& s, const simt::Sync& sync) {
  const uint32_t rank = sync.id >> mem::kClusterShift;
  simt::Block* owner = &s.warp->block();
  if (rank != 0 && owner->cluster && rank <= owner->cluster->blocks.size()) owner = owner->cluster->blocks[rank - 1];
  BlockState* block = state_.live.block(owner);
  if (!block) return;
  const uint32_t offset = (sync.id & ((1u << mem::kClusterShift) - 1)) - mem::kSharedReserved;
  BarrierClock& barrier = block->mbarriers[offset];
  if (sync.kind == simt::SyncKind::mbarrier_arrive) {
    arrive(s, sync, barrier);
  } else {
    wait(s, sync, barrier);
  }
}

}  // namespace fb::race
