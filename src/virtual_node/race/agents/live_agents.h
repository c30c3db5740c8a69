#pragma once

// The running agents: from the engine's objects to their state. Creates state when an operation or a warp starts and
// drops it when it ends.

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "virtual_node/race/agents/agent_state.h"
#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/clocks/sync_clock.h"
#include "virtual_node/simt/block.h"

namespace fb::race {

class LiveAgents {
 public:
  LiveAgents(Agents& agents, ClockJoiner& joiner) : agents_(agents), joiner_(joiner) {}

  uint32_t begin_operation(OperationInfo info, const ClockRef& incoming);
  // Null: it has ended.
  OperationState* operation(uint32_t number);
  void end_operation(uint32_t number);
  // The id under which an operation other than a kernel accesses memory.
  BlockId block_of(OperationState& operation);
  // The blocks of this grid belong to the operation from now on.
  void begin_grid(uint64_t grid, uint32_t operation) { grids_[grid] = operation; }

  void start_warp(simt::Warp& w);
  // Its clock flows into its operation's. The state of a block is dropped when its last warp exits.
  void exit_warp(simt::Warp& w);
  WarpState& warp(simt::Warp& w) {
    if (!w.listener_state) start_warp(w);
    return *static_cast<WarpState*>(w.listener_state);
  }
  // Null: it has ended, or has not started.
  BlockState* block(const simt::Block* block) {
    const auto found = blocks_.find(block);
    return found == blocks_.end() ? nullptr : found->second.get();
  }
  // The cluster whose barrier the threads of this block use.
  ClusterState& cluster_of(BlockState& block);

 private:
  std::unique_ptr<BlockState> make_block(simt::Block& block);

  Agents& agents_;
  ClockJoiner& joiner_;
  std::unordered_map<uint32_t, std::unique_ptr<OperationState>> operations_;
  std::unordered_map<uint64_t, uint32_t> grids_;
  std::unordered_map<const simt::Block*, std::unique_ptr<BlockState>> blocks_;
  std::unordered_map<const simt::Cluster*, std::unique_ptr<ClusterState>> clusters_;
  uint64_t next_cluster_ = 1;
};

}  // namespace fb::race
