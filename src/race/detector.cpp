// The checker's frame: operations, blocks and warps come and go.

#include "race/detector.h"

#include <algorithm>
#include <utility>

#include "base/byte_name.h"
#include "race/state.h"

namespace fb::race {

Detector::Detector(const Options& options, LocateFn locate, ReportFn report)
    : options_(options),
      locate_(std::move(locate)),
      report_(std::move(report)),
      rng_(options.seed ^ 0x5eed),
      edges_(4096) {
  if (const auto why = byte_named(options_.why)) {
    why_shadow_ = why->memory;
    why_offset_ = why->offset;
  }
}
Detector::~Detector() = default;

// --- Operations

uint32_t Detector::begin_operation(OperationInfo info, const ClockRef& knows) {
  const uint32_t number = agents_.add_operation(std::move(info));
  auto state = std::make_unique<OperationState>();
  state->number = number;
  state->knows = state->leaves = knows;
  operations_[number] = std::move(state);
  return number;
}

ClockRef Detector::end_operation(uint32_t operation) {
  const auto found = operations_.find(operation);
  if (found == operations_.end()) return nullptr;
  for (const auto& settled : found->second->observed) *settled = true;
  const StreamPlace place = agents_.operation(operation).place;
  auto left = found->second->leaves ? std::make_shared<Clock>(*found->second->leaves) : std::make_shared<Clock>();
  left->add(place);  // its blocks are known by its place from now on, and so are those of earlier operations
  operations_.erase(found);
  forget_blocks(place);
  std::erase_if(grids_, [&](const auto& g) { return g.second == operation; });
  return left;
}

// What fences of order sc have left is handed to everybody who fences, and would grow for ever. Who relies on the order
// of such fences alone, without a flag and across kernels, is not believed.
void Detector::forget_blocks(const StreamPlace& of) {
  const auto shorten = [&](ClockRef& clock) {
    if (!clock) return;
    auto kept = std::make_shared<Clock>(*clock);
    kept->forget(of);
    if (kept->size() != clock->size()) clock = std::move(kept);
  };
  const auto shorten_all = [&](Knowledge& known) {
    shorten(known.all);
    shorten(known.proxied);
  };
  shorten_all(sc_of_all_);
  for (auto& [device, known] : sc_of_device_) shorten_all(known);
}

void Detector::begin_grid(uint64_t grid, uint32_t operation) { grids_[grid] = operation; }

ClockRef Detector::host_of(uint32_t host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? nullptr : found->second;
}

void Detector::host_learns(uint32_t host, const ClockRef& what) {
  ClockRef& known = hosts_[host];
  known = join(known, what);
}

// --- Blocks and warps

Detector::WarpState& Detector::state_of(simt::Warp& w) {
  if (!w.listener_state) on_warp_start(w);
  return *static_cast<WarpState*>(w.listener_state);
}

void Detector::on_warp_start(simt::Warp& w) {
  if (w.listener_state) return;
  simt::Block& block = w.block();
  auto& slot = blocks_[&block];
  // A grid that ended by a fault has left its blocks behind, and this one has come to lie where one of them was.
  if (slot && slot->warps[w.index()]) slot.reset();
  if (!slot) {
    auto grid = grids_.find(block.grid().id);
    if (grid == grids_.end()) {
      // A grid of nobody's stream: a machine without a host.
      OperationInfo info;
      info.name = block.grid().kernel->name;
      info.device = block.device;
      info.kernel = true;
      info.place = {~static_cast<uint32_t>(block.grid().id), 1};
      grid = grids_.emplace(block.grid().id, begin_operation(std::move(info), nullptr)).first;
    }
    slot = std::make_unique<BlockState>();
    slot->operation = operations_.at(grid->second).get();
    slot->block = &block;
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
    slot->id = agents_.add_block(grid->second, block.index(), cluster);
    slot->place = agents_.block(slot->id).place;
    slot->warps.resize(block.warps().size());
    slot->left = static_cast<uint32_t>(block.warps().size());
  }
  auto state = std::make_unique<WarpState>();
  state->block = slot.get();
  state->warp = &w;
  state->index = static_cast<uint16_t>(w.index());
  state->first_site = agents_.first_site(*block.grid().program);
  state->traits = agents_.traits(*block.grid().program);
  state->known.all = state->known.proxied = slot->operation->knows;
  w.listener_state = state.get();
  slot->warps[w.index()] = std::move(state);
}

void Detector::on_warp_exit(simt::Warp& w) {
  if (!w.listener_state) return;
  WarpState& s = *static_cast<WarpState*>(w.listener_state);
  if (std::exchange(s.exited, true)) return;
  BlockState& block = *s.block;
  OperationState& op = *block.operation;
  if (std::exchange(op.joined, s.known.all) != s.known.all) op.leaves = join(op.leaves, s.known.all);
  for (const LaneKnowledge& k : s.lanes) op.leaves = join(op.leaves, k.what.all);
  // Its end publishes nothing yet: that of its kernel does.
  op.observed.insert(op.observed.end(), s.observed.begin(), s.observed.end());
  s.observed.clear();
  if (--block.left != 0) return;
  for (const auto& warp : block.warps) {
    if (warp) warp->warp->listener_state = nullptr;
  }
  if (simt::Cluster* cluster = block.block->cluster) {
    const auto found = clusters_.find(cluster);
    if (found != clusters_.end() && --found->second->blocks == 0) clusters_.erase(found);
  }
  blocks_.erase(block.block);
}

}  // namespace fb::race
