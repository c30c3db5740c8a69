#include "virtual_node/race/agents/live_agents.h"

#include <utility>

namespace fb::race {

uint32_t LiveAgents::begin_operation(OperationInfo info, const ClockRef& incoming) {
  const uint32_t number = agents_.add_operation(std::move(info));
  auto state = std::make_unique<OperationState>();
  state->number = number;
  state->incoming = state->outgoing = incoming;
  operations_[number] = std::move(state);
  return number;
}

OperationState* LiveAgents::operation(uint32_t number) {
  const auto found = operations_.find(number);
  return found == operations_.end() ? nullptr : found->second.get();
}

void LiveAgents::end_operation(uint32_t number) {
  operations_.erase(number);
  std::erase_if(grids_, [&](const auto& g) { return g.second == number; });
}

BlockId LiveAgents::block_of(OperationState& operation) {
  if (operation.block == 0) operation.block = agents_.add_block(operation.number, 0, 0);
  return operation.block;
}

std::unique_ptr<BlockState> LiveAgents::make_block(simt::Block& block) {
  auto grid = grids_.find(block.grid().id);
  if (grid == grids_.end()) {
    // A grid that is on no stream: a machine without a host.
    OperationInfo info;
    info.name = block.grid().kernel->name;
    info.device = block.device;
    info.kernel = true;
    info.stream_epoch = {~static_cast<uint32_t>(block.grid().id), 1};
    grid = grids_.emplace(block.grid().id, begin_operation(std::move(info), nullptr)).first;
  }
  auto state = std::make_unique<BlockState>();
  state->operation = operations_.at(grid->second).get();
  state->block = &block;
  uint64_t cluster = 0;
  if (block.cluster) {
    auto& c = clusters_[block.cluster];
    if (!c) {
      c = std::make_unique<ClusterState>();
      c->number = next_cluster_++;
    }
    ++c->blocks;
    cluster = c->number;
  }
  state->id = agents_.add_block(grid->second, block.index(), cluster);
  state->stream_epoch = agents_.block(state->id).stream_epoch;
  state->warps.resize(block.warps().size());
  state->running_warps = static_cast<uint32_t>(block.warps().size());
  return state;
}

void LiveAgents::start_warp(simt::Warp& w) {
  if (w.listener_state) return;
  simt::Block& block = w.block();
  auto& slot = blocks_[&block];
  // A faulted grid left stale state and the allocator reused the Block's address; discard it.
  if (slot && slot->warps[w.index()]) slot.reset();
  if (!slot) slot = make_block(block);
  auto state = std::make_unique<WarpState>();
  state->block = slot.get();
  state->warp = &w;
  state->index = static_cast<uint16_t>(w.index());
  state->first_site = agents_.first_site(*block.grid().program);
  state->traits = agents_.traits(*block.grid().program);
  state->clock.all = state->clock.async_visible = slot->operation->incoming;
  w.listener_state = state.get();
  slot->warps[w.index()] = std::move(state);
}

void LiveAgents::exit_warp(simt::Warp& w) {
  if (!w.listener_state) return;
  WarpState& s = *static_cast<WarpState*>(w.listener_state);
  if (std::exchange(s.exited, true)) return;
  BlockState& block = *s.block;
  OperationState& op = *block.operation;
  if (std::exchange(op.last_joined, s.clock.all) != s.clock.all) op.outgoing = joiner_.join(op.outgoing, s.clock.all);
  for (const LaneClock& k : s.lane_clocks) op.outgoing = joiner_.join(op.outgoing, k.clock.all);
  // The exit of a warp publishes nothing yet: the end of its kernel does.
  op.observed.insert(op.observed.end(), s.observed.begin(), s.observed.end());
  s.observed.clear();
  if (--block.running_warps != 0) return;
  for (const auto& warp : block.warps) {
    if (warp) warp->warp->listener_state = nullptr;
  }
  if (simt::Cluster* cluster = block.block->cluster) {
    const auto found = clusters_.find(cluster);
    if (found != clusters_.end() && --found->second->blocks == 0) clusters_.erase(found);
  }
  blocks_.erase(block.block);
}

ClusterState& LiveAgents::cluster_of(BlockState& block) {
  auto& state = block.block->cluster ? clusters_[block.block->cluster] : block.own_cluster;
  if (!state) state = std::make_unique<ClusterState>();
  return *state;
}

}  // namespace fb::race
