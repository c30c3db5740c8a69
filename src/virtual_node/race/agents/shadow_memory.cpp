#include "virtual_node/race/agents/shadow_memory.h"

namespace fb::race {

ShadowRange ShadowMemory::shared_range(WarpState& s, mem::Address a, uint64_t bytes) {
  const auto in_window = static_cast<uint32_t>(a - mem::kSharedWindow);
  const uint32_t rank = in_window >> mem::kClusterShift;
  simt::Block* owner = &s.warp->block();
  if (rank != 0 && (owner->cluster || rank != 1)) {  // slot 1 of a block without a cluster is its own
    if (!owner->cluster || rank > owner->cluster->blocks.size()) return {};
    owner = owner->cluster->blocks[rank - 1];
  }
  const uint32_t offset = (in_window & ((1u << mem::kClusterShift) - 1)) - mem::kSharedReserved;
  if (offset >= owner->shared_bytes() || bytes > owner->shared_bytes() - offset) return {};
  BlockState* block = owner == s.block->block ? s.block : live_.block(owner);
  if (!block) return {};
  if (!block->shared) block->shared = std::make_unique<Shadow>(0, owner->shared_bytes());
  return {block->shared.get(), nullptr, nullptr, offset, owner->shared() + offset, owner->shared_observed};
}

}  // namespace fb::race
