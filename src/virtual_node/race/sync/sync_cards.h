#pragma once

// Network cards: their accesses to memory, and flags that they write for others and read for their hosts.
//
// A part of a work request is an operation that begins with what the card promises to happen before it
// (virtual_node/machine/libraries/verbs/card_order.h). A word that it writes can be a flag: a strong load that reads it
// acquires CardPart::release.

#include <cstdint>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/race/agents/shadow_memory.h"
#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/race/check/access_check.h"
#include "virtual_node/race/shadow/flag.h"
#include "virtual_node/race/shadow/looked_at.h"

namespace fb::race {

class CardSync {
 public:
  CardSync(SyncState& state, ShadowMemory& memory, AccessCheck& check, const LookedAt& looked_at)
      : state_(state), memory_(memory), check_(check), looked_at_(looked_at) {}

  void access(uint32_t operation, AccessKind kind, mem::Allocation& allocation, uint64_t offset, uint64_t bytes);
  // By the flags in these words.
  ClockRef released(mem::Allocation& allocation, uint64_t offset, uint64_t bytes);

 private:
  SyncState& state_;
  ShadowMemory& memory_;
  AccessCheck& check_;
  const LookedAt& looked_at_;
};

}  // namespace fb::race
