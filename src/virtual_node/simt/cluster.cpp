// The barrier of a cluster.

#include <algorithm>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/mask.h"
#include "virtual_node/simt/trap.h"

namespace fb::simt {
namespace {

Mask parity_mask(uint64_t phase) { return (phase & 1) != 0 ? kAllLanes : 0; }

}  // namespace

Cluster& Block::barrier_cluster() {
  if (cluster) return *cluster;
  if (!own_cluster_) {
    own_cluster_ = std::make_shared<Cluster>();
    own_cluster_->blocks.push_back(this);
  }
  return *own_cluster_;
}

Cluster::Arrivals& Cluster::arrivals_of(const Warp& warp) {
  if (arrivals_.empty()) {
    for (const Block* block : blocks) arrivals_.emplace_back(block->warps().size());
  }
  return arrivals_[warp.block().rank_in_cluster][warp.index()];
}

void Cluster::arrive(Warp& warp, const Inst& inst, Mask lanes) {
  Arrivals& a = arrivals_of(warp);
  if (const Mask again = a.arrived & lanes; again != 0) {
    warp.trap(TrapKind::bad_barrier, inst, first_of(again),
              "this thread arrives at the cluster's barrier a second time without having waited");
  }
  a.arrived |= lanes;
  a.parity = (a.parity & ~lanes) | (parity_mask(phase) & lanes);
  in_use_ = true;
  end_phase_if_full();
}

Mask Cluster::pass(Warp& warp, const Inst& inst, Mask lanes) {
  Arrivals& a = arrivals_of(warp);
  if (const Mask absent = lanes & ~a.arrived; absent != 0) {
    warp.trap(TrapKind::bad_barrier, inst, first_of(absent),
              "this thread waits at the cluster's barrier without having arrived");
  }
  const Mask ended = lanes & (a.parity ^ parity_mask(phase));
  a.arrived &= ~ended;
  return ended;
}

void Cluster::end_phase_if_full() {
  if (!in_use_) return;
  for (size_t rank = 0; rank < blocks.size(); ++rank) {
    for (const auto& warp : blocks[rank]->warps()) {
      const Arrivals& a = arrivals_[rank][warp->index()];
      const Mask arrived = a.arrived & ~(a.parity ^ parity_mask(phase));
      if ((arrived | ~warp->present() | warp->exited()) != kAllLanes) return;
    }
  }
  ++phase;
  in_use_ = false;
  for (Block* block : blocks) {
    for (auto& warp : block->warps()) warp->release(SplitState::cluster_barrier);
  }
}

}  // namespace fb::simt
