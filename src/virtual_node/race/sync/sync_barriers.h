#pragma once

// Barriers: of lanes of a warp, of a block, of a cluster, and mbarriers in shared memory.

#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/simt/listener.h"

namespace fb::race {

class BarrierSync {
 public:
  explicit BarrierSync(SyncState& state) : state_(state) {}

  void warp_barrier(WarpState& s, const simt::Sync& sync);
  void block_arrive(WarpState& s, const simt::Sync& sync);
  void block_release(WarpState& s, const simt::Sync& sync);
  void cluster_barrier(WarpState& s, const simt::Sync& sync);
  void mbarrier(WarpState& s, const simt::Sync& sync);

 private:
  void complete(BlockState& block, BarrierClock& barrier);
  void arrive(WarpState& s, const simt::Sync& sync, BarrierClock& barrier);
  void wait(WarpState& s, const simt::Sync& sync, const BarrierClock& barrier);

  SyncState& state_;
};

}  // namespace fb::race
