#pragma once

// The state that all kinds of synchronisation share: agents, their clocks, and the log of edges.

#include <cstdint>
#include <unordered_map>

#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/agents/live_agents.h"
#include "virtual_node/race/agents/sync_log.h"
#include "virtual_node/race/clocks/sync_clock.h"

namespace fb::race {

// The clocks of host processes. A host acquires through memory that it shares with a device, or by waiting for work.
class HostClocks {
 public:
  explicit HostClocks(ClockJoiner& joiner) : joiner_(joiner) {}

  ClockRef of(uint32_t host) const {
    const auto found = clocks_.find(host);
    return found == clocks_.end() ? nullptr : found->second;
  }
  const std::unordered_map<uint32_t, ClockRef>& all() const { return clocks_; }
  void acquire(uint32_t host, const ClockRef& clock) {
    ClockRef& own = clocks_[host];
    own = joiner_.join(own, clock);
  }

 private:
  ClockJoiner& joiner_;
  std::unordered_map<uint32_t, ClockRef> clocks_;  // by process
};

struct SyncState {
  Agents agents;
  ClockJoiner joiner;
  LiveAgents live{agents, joiner};
  HostClocks hosts{joiner};
  SyncLog log{agents};

  SyncState() = default;
  SyncState(const SyncState&) = delete;  // its parts refer to each other
  SyncState& operator=(const SyncState&) = delete;
};

}  // namespace fb::race
