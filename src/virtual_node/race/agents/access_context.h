#pragma once

// The access that is being checked, and the memory that it touches.

#include <cstddef>
#include <cstdint>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/race/agents/agent_state.h"
#include "virtual_node/race/shadow/shadow.h"
#include "virtual_node/race/shadow/shadow_cell.h"

namespace fb::race {

struct AccessContext {
  ShadowCell cell;            // what shadow memory will record of it
  WarpState* warp = nullptr;  // null: an operation of a stream accesses memory itself
  OperationState* operation = nullptr;
  BlockState* block = nullptr;
  Mask lanes = simt::kAllLanes;  // that take part
  bool async = false;            // through the asynchronous proxy
  bool may_be_stale = false;     // a load that may return older bytes
  Mask stale = 0;                // the lanes that do
  uint32_t lane_bytes = 0;
  bool same_as_lane = false;  // a store of what an earlier lane of the same instruction stores there
};

// Bytes from `offset` of a shadow.
struct ShadowRange {
  Shadow* shadow = nullptr;
  const mem::Allocation* allocation = nullptr;  // null: shared memory
  std::byte* host = nullptr;                    // of byte `offset`; null: the contents can't be read
  uint64_t offset = 0;
  const std::byte* contents = nullptr;  // of byte `offset`, also of shared memory
  bool observed = true;                 // of shared memory: simt::Block::shared_observed
};

// Line `line` of a shadow.
struct LineRef {
  Shadow* shadow = nullptr;
  uint64_t line = 0;
  std::byte* host = nullptr;                    // of byte 0 of the line; null: the contents can't be read
  const mem::Allocation* allocation = nullptr;  // null: shared memory
};

}  // namespace fb::race
