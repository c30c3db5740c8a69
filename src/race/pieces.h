#pragma once

// From an address of a warp to the memory behind it. Private to the checker's own files.

#include "race/detector.h"
#include "race/state.h"
#include "simt/environment.h"

namespace fb::race {

// f(shadow, allocation, host, offset) for the memory behind `bytes` at `a`: one piece, or one of each member of a
// multicast object.
template <class F>
void Detector::each_piece(WarpState& s, mem::Address a, uint64_t bytes, F f) {
  if (mem::is_shared(a)) {
    const auto in_window = static_cast<uint32_t>(a - mem::kSharedWindow);
    const uint32_t rank = in_window >> mem::kClusterShift;
    simt::Block* owner = &s.warp->block();
    if (rank != 0 && (owner->cluster || rank != 1)) {  // slot 1 of a block without a cluster is its own
      if (!owner->cluster || rank > owner->cluster->blocks.size()) return;
      owner = owner->cluster->blocks[rank - 1];
    }
    const uint32_t offset = (in_window & ((1u << mem::kClusterShift) - 1)) - mem::kSharedReserved;
    if (offset >= owner->shared_bytes() || bytes > owner->shared_bytes() - offset) return;  // a fault follows
    const auto found = blocks_.find(owner);
    if (found == blocks_.end()) return;
    auto& shadow = found->second->shared;
    if (!shadow) shadow = std::make_unique<Shadow>(0, owner->shared_bytes());
    return f(*shadow, static_cast<const mem::Allocation*>(nullptr), static_cast<std::byte*>(nullptr), uint64_t{offset});
  }
  if (!mem::is_global(a)) return;
  const mem::Window* window = s.warp->window && s.warp->window->contains(a, bytes) ? s.warp->window : nullptr;
  if (!window) window = s.warp->environment().global().find(a);
  if (!window || !window->contains(a, bytes)) return;  // a fault follows
  const uint64_t offset = window->offset + (a - window->begin);
  if (!window->multicast) {
    return f(shadow_of(*window->allocation), static_cast<const mem::Allocation*>(window->allocation.get()),
             window->host + (a - window->begin), offset);
  }
  for (const mem::Multicast::Member& member : window->multicast->members) {
    const mem::Multicast::Piece* piece = member.piece_at(offset);
    if (!piece || offset + bytes > piece->offset + piece->size) continue;
    std::byte* host = piece->host + (offset - piece->offset);
    f(shadow_of(*piece->allocation), static_cast<const mem::Allocation*>(piece->allocation.get()), host,
      static_cast<uint64_t>(host - piece->allocation->bytes.get()));
  }
}

}  // namespace fb::race
