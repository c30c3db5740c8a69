#pragma once

// Fences: a fence releases for the strong writes after it, and acquires for the strong reads before it.

#include <cstdint>
#include <unordered_map>

#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/race/sync/sync_flags.h"
#include "virtual_node/simt/listener.h"

namespace fb::race {

class FenceSync {
 public:
  FenceSync(SyncState& state, FlagSync& flags) : state_(state), flags_(flags) {}

  void fence(WarpState& s, const simt::Sync& sync);
  // fence.sc clocks are joined into every later fence.sc and would grow without bound, so the blocks of an operation
  // are dropped when it ends. Ordering by fence.sc alone across kernels is therefore not recognised (false positive).
  void forget(const StreamEpoch& operation);

 private:
  void acquire(WarpState& s, const simt::Sync& sync);
  void proxy_fence(WarpState& s, Mask lanes);
  void join_sc_order(WarpState& s, Mask lanes, Scope scope);

  SyncState& state_;
  FlagSync& flags_;
  // Left by fence.sc, by scope; those of block scope are in BlockState::sc.
  SyncClock system_sc_;
  std::unordered_map<uint32_t, SyncClock> device_sc_;
};

}  // namespace fb::race
