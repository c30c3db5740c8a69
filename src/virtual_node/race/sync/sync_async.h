#pragma once

// Asynchronous copies: when they are issued, performed and waited for (commit groups, mbarriers).
//
// An async copy is modelled as a separate agent of its block. It begins when it is issued; only an agent that waits for
// it is ordered after its end.

#include <cstddef>

#include "virtual_node/race/agents/shadow_memory.h"
#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/race/check/access_check.h"
#include "virtual_node/race/shadow/looked_at.h"
#include "virtual_node/simt/async/async_copy.h"
#include "virtual_node/simt/listener.h"

namespace fb::race {

class AsyncSync {
 public:
  AsyncSync(SyncState& state, ShadowMemory& memory, AccessCheck& check, const LookedAt& looked_at)
      : state_(state), memory_(memory), check_(check), looked_at_(looked_at) {}

  // An access of a copy, reported when the copy is issued.
  void access(WarpState& s, const simt::Access& access, AccessContext& context);
  void issue(const simt::AsyncCopy& copy);
  void begin(const simt::AsyncCopy& copy);
  void end(const simt::AsyncCopy& copy);
  // The copy between begin() and end() arrives at an mbarrier of `owner`.
  void signal_mbarrier(simt::Block& owner, const std::byte* at);
  // cp.async.mbarrier.arrive of a lane whose copies with a smaller sequence number than `before` are done.
  void arrive(simt::Warp& w, uint32_t lane, uint64_t before, simt::Block& owner, const std::byte* at);
  // Commits of groups, and waits for them.
  void group(WarpState& s, const simt::Sync& sync);

 private:
  // What these lanes of a warp (numbered from 1) have copied up to `epoch` happens before the waiters of the mbarrier.
  void complete(BlockId copied_by, uint16_t warp, Mask lanes, Epoch epoch, simt::Block& owner, const std::byte* at);

  SyncState& state_;
  ShadowMemory& memory_;
  AccessCheck& check_;
  const LookedAt& looked_at_;
  const AsyncIssue* completing_ = nullptr;
};

}  // namespace fb::race
