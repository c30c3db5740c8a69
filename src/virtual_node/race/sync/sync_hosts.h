#pragma once

// Accesses of host code to memory that it shares with network cards, where they are observed: plain ones, and words
// that are accessed atomically.

#include <cstdint>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/race/agents/shadow_memory.h"
#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/race/check/access_check.h"
#include "virtual_node/race/shadow/looked_at.h"

namespace fb::race {

class HostSync {
 public:
  HostSync(SyncState& state, ShadowMemory& memory, AccessCheck& check, const LookedAt& looked_at)
      : state_(state), memory_(memory), check_(check), looked_at_(looked_at) {}

  void access(uint32_t operation, AccessKind kind, Site site, mem::Allocation& allocation, uint64_t offset,
              uint64_t bytes);
  // A strong access to a word. `releases`: it carries what the operation began with to a load that acquires.
  void word(uint32_t operation, AccessKind kind, Site site, mem::Allocation& allocation, uint64_t offset,
            uint32_t bytes, bool releases);

 private:
  AccessContext context_of(OperationState& op, AccessKind kind, Site site);

  SyncState& state_;
  ShadowMemory& memory_;
  AccessCheck& check_;
  const LookedAt& looked_at_;
};

}  // namespace fb::race
