#pragma once

// Operations of streams: their order, their accesses to memory, and values that they write and wait for.

#include <cstdint>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/race/agents/shadow_memory.h"
#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/race/check/access_check.h"
#include "virtual_node/race/shadow/looked_at.h"
#include "virtual_node/race/sync/sync_fences.h"

namespace fb::race {

class StreamSync {
 public:
  StreamSync(SyncState& state, ShadowMemory& memory, AccessCheck& check, FenceSync& fences, const LookedAt& looked_at)
      : state_(state), memory_(memory), check_(check), fences_(fences), looked_at_(looked_at) {}

  // Returns the clock that successors in stream order inherit.
  ClockRef end_operation(uint32_t operation);
  ClockRef so_far(uint32_t operation);
  void inherit(uint32_t operation, const ClockRef& clock);
  ClockRef launch_clock(simt::Warp& w, uint32_t lane);
  void access(uint32_t operation, AccessKind kind, mem::Allocation& allocation, uint64_t offset, uint64_t bytes);
  void write_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes);
  void wait_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes);

 private:
  AccessContext context_of(OperationState& op, AccessKind kind);
  Line& access_word(AccessContext& context, mem::Allocation& allocation, uint64_t offset, uint32_t bytes);

  SyncState& state_;
  ShadowMemory& memory_;
  AccessCheck& check_;
  FenceSync& fences_;
  const LookedAt& looked_at_;
};

}  // namespace fb::race
