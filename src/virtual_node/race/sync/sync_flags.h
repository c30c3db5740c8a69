#pragma once

// Synchronisation through flags: strong writes carry releases, strong reads acquire them, now or at the next fence.

#include <cstdint>

#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/agents/shadow_memory.h"
#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/race/clocks/options.h"
#include "virtual_node/race/shadow/flag.h"
#include "virtual_node/simt/listener.h"

namespace fb::race {

class FlagSync {
 public:
  FlagSync(const Options& options, SyncState& state, ShadowMemory& memory)
      : options_(options), state_(state), memory_(memory) {}

  // After the access was checked: AccessContext::stale is known.
  void strong_access(WarpState& s, const simt::Access& access, const AccessContext& context);
  // A fence: pending acquires of these lanes become acquires, where scopes allow it.
  void acquire_at_fence(WarpState& s, Mask lanes, Scope scope) { acquire_pending(s, lanes, scope, nullptr); }

 private:
  void read_flags(WarpState& s, const simt::Access& access, const AccessContext& context);
  void read_flag(WarpState& s, const simt::Access& access, const AccessContext& context, Mask lanes, Line& line,
                 const Flag& flag, uint32_t offset, uint32_t bytes);
  // Of memory that the host shares, at system scope.
  void read_word_of_host(WarpState& s, const simt::Access& access, const AccessContext& context, Mask lanes,
                         const mem::Allocation& memory);
  // A word that a network card has written last.
  void read_word_of_card(WarpState& s, const simt::Access& access, const AccessContext& context, Mask lanes, Line& line,
                         uint32_t offset, uint32_t bytes);
  // `load`: the acquiring load; null: a fence.
  void acquire_pending(WarpState& s, Mask lanes, Scope scope, const simt::Access* load);
  bool acquire_release(WarpState& s, Mask lanes, Scope scope, const Release& release, uint64_t edge,
                       SyncClock& acquired);

  void write_flags(WarpState& s, const simt::Access& access, const AccessContext& context);
  void write_flag(WarpState& s, const simt::Access& access, const AccessContext& context, const ReleasesRef& own,
                  Flag& flag);
  ReleasesRef make_releases(WarpState& s, const simt::Access& access, const ShadowCell& cell, uint32_t lane);
  void release_to_host(const WarpState& s, const AccessContext& context, const Releases& releases);
  void shorten(Releases& releases);

  const Options& options_;
  SyncState& state_;
  ShadowMemory& memory_;
};

}  // namespace fb::race
