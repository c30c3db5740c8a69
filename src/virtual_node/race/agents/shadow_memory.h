#pragma once

// From an address of a warp to the shadow of the memory that it denotes.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/agents/live_agents.h"
#include "virtual_node/simt/environment.h"

namespace fb::race {

class ShadowMemory {
 public:
  explicit ShadowMemory(LiveAgents& live) : live_(live) {}

  // Attached to the allocation, and freed with it.
  Shadow& of(mem::Allocation& allocation) {
    if (!allocation.attachment) allocation.attachment = std::make_shared<Shadow>(next_shadow_++, allocation.size);
    return *static_cast<Shadow*>(allocation.attachment.get());
  }

  // f(const ShadowRange&) for the memory of `bytes` at `a`: one range, or one for each member of a multicast object.
  // None where the access will fault.
  template <class F>
  void each_range(WarpState& s, mem::Address a, uint64_t bytes, F f) {
    if (mem::is_shared(a)) {
      const ShadowRange range = shared_range(s, a, bytes);
      if (range.shadow) f(range);
      return;
    }
    if (!mem::is_global(a)) return;
    const mem::Window* window = s.warp->window && s.warp->window->contains(a, bytes) ? s.warp->window : nullptr;
    if (!window) window = s.warp->environment().global().find(a);
    if (!window || !window->contains(a, bytes)) return;
    const uint64_t offset = window->offset + (a - window->begin);
    if (!window->multicast)
      return f(ShadowRange{&of(*window->allocation), window->allocation.get(), window->host + (a - window->begin),
                           offset, window->host + (a - window->begin)});
    for (const mem::Multicast::Member& member : window->multicast->members) {
      const mem::Multicast::Piece* piece = member.piece_at(offset);
      if (!piece || offset + bytes > piece->offset + piece->size) continue;
      std::byte* host = piece->host + (offset - piece->offset);
      f(ShadowRange{&of(*piece->allocation), piece->allocation.get(), host,
                    static_cast<uint64_t>(host - piece->allocation->bytes.get()), host});
    }
  }

 private:
  ShadowRange shared_range(WarpState& s, mem::Address a, uint64_t bytes);

  LiveAgents& live_;
  uint32_t next_shadow_ = 1;
};

}  // namespace fb::race
