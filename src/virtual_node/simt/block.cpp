#include "virtual_node/simt/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "virtual_node/simt/environment.h"

namespace fb::simt {

Block::Block(const Grid& grid, uint64_t index, Environment& environment, Listener* listener)
    : grid_(&grid),
      index_(index),
      position_{static_cast<uint32_t>(index % grid.grid.x), static_cast<uint32_t>(index / grid.grid.x % grid.grid.y),
                static_cast<uint32_t>(index / grid.grid.x / grid.grid.y)},
      threads_(static_cast<uint32_t>(grid.block.count())),
      environment_(&environment),
      listener_(listener) {
  shared_bytes_ = grid.kernel->static_shared_bytes + grid.dynamic_shared_bytes;
  shared_.resize((shared_bytes_ + sizeof(SharedLine) - 1) / sizeof(SharedLine));
  if (grid.fresh != nullptr) grid.fresh->fill(std::as_writable_bytes(std::span(shared_)), index);
  if (grid.check_uninitialised_shared) shared_written_.resize(shared_bytes_);
  const uint32_t warps = (threads_ + kLanes - 1) / kLanes;
  live_warps_ = warps;
  for (uint32_t w = 0; w < warps; ++w) {
    const uint32_t lanes = std::min(kLanes, threads_ - w * kLanes);
    warps_.push_back(std::make_unique<Warp>(*this, w, lanes == kLanes ? kAllLanes : (Mask{1} << lanes) - 1));
  }
}

void Block::check(Warp& warp, const Inst& inst, const Arrival& arrival) const {
  const auto fail = [&](std::string message) {
    warp.trap(TrapKind::bad_barrier, inst, static_cast<uint32_t>(std::countr_zero(arrival.lanes)), std::move(message));
  };
  const auto [use, id, expected, lanes, votes] = arrival;
  if (id >= barriers_.size()) fail(fmt::format("barrier {} does not exist (0 to 15 do)", id));
  if (expected % kLanes != 0) {
    fail(fmt::format("barrier {}: the thread count {} is not a multiple of the warp size", id, expected));
  }
  if (expected == 0 && use == BarrierUse::pass) fail(fmt::format("barrier {}: bar.arrive needs a thread count", id));
  const BlockBarrier& b = barriers_[id];
  if (!b.in_use) return;
  // A count of all warps and no count at all mean the same threads.
  const auto count = [&](uint32_t threads) { return threads == 0 ? warps_.size() * kLanes : threads; };
  if (count(b.expected_threads) != count(expected)) {
    fail(fmt::format("barrier {} is used with {} threads here and with {} by threads that wait", id, count(expected),
                     count(b.expected_threads)));
  }
  if (b.votes_taken != (use == BarrierUse::vote)) {
    fail(fmt::format("barrier {} is used by bar.red and by bar.sync or bar.arrive at the same time", id));
  }
  if ((b.warps[warp.index()].arrived & lanes) != 0) {
    fail(fmt::format("this thread arrives at barrier {} a second time before the first has completed", id));
  }
}

bool Block::arrive(Warp& warp, const Inst& inst, const Arrival& arrival) {
  check(warp, inst, arrival);
  const auto [use, id, expected, lanes, votes] = arrival;
  report(warp, SyncKind::block_arrive, id, lanes, &inst);
  BlockBarrier& b = barriers_[id];
  if (b.warps.empty()) b.warps.resize(warps_.size());
  BarrierWarp& own = b.warps[warp.index()];
  own.arrived |= lanes;
  if (use != BarrierUse::pass) own.waiting |= lanes;
  b.votes += static_cast<uint32_t>(std::popcount(votes & lanes));
  b.voters += static_cast<uint32_t>(std::popcount(lanes));
  const bool full = is_full(b, warp.index());
  // The first arrival decides whether the barrier waits for threads that exit: only with an explicit count it does.
  if (!b.in_use) {
    b.in_use = true;
    b.votes_taken = use == BarrierUse::vote;
    b.expected_threads = expected;
    count_full(b);
  } else {
    b.full += full;
  }
  if (full) release_passing(b, warp.index(), id);
  const bool complete = full && complete_if_full(id, &inst);
  if (use == BarrierUse::pass) {
    if (!full) own.passing |= lanes;
    return full;
  }
  return complete;
}

// All lanes of the warp have arrived or exited. With a count, only warps that took part are asked for; without one,
// threads that have exited are not waited for.
bool Block::is_full(const BlockBarrier& b, size_t warp) const {
  const Mask absent = ~warps_[warp]->present() | warps_[warp]->exited();
  const Mask arrived = b.warps[warp].arrived;
  return (arrived | absent) == kAllLanes && (arrived != 0 || b.expected_threads == 0);
}

void Block::count_full(BlockBarrier& b) const {
  b.full = 0;
  for (size_t w = 0; w < warps_.size(); ++w) b.full += is_full(b, w);
}

bool Block::complete_if_full(uint32_t id, const Inst* inst) {
  BlockBarrier& b = barriers_[id];
  const size_t needed = b.expected_threads == 0 ? warps_.size() : b.expected_threads / kLanes;
  if (b.full < needed) return false;
  b.in_use = false;
  for (size_t w = 0; w < warps_.size(); ++w) {
    BarrierWarp& at = b.warps[w];
    const Mask released = at.waiting;
    at.arrived = at.waiting = 0;
    if (released == 0) continue;
    if (b.votes_taken) {
      at.unread = released;
      at.votes = b.votes;
      at.voters = b.voters;
    }
    report(*warps_[w], SyncKind::block_release, id, released, inst);
    warps_[w]->release(SplitState::barrier, id);
  }
  b.votes = b.voters = 0;
  return true;
}

void Block::release_passing(BlockBarrier& b, size_t warp, uint32_t id) {
  if (b.warps[warp].passing == 0) return;
  b.warps[warp].passing = 0;
  warps_[warp]->release(SplitState::barrier, kOwnWarpOnly + id);
}

void Block::report(Warp& warp, SyncKind kind, uint32_t id, Mask lanes, const Inst* inst) {
  if (!listener_) return;
  const MemoryOrder order = kind == SyncKind::block_arrive ? MemoryOrder::release : MemoryOrder::acquire;
  listener_->on_sync(warp, {kind, order, Scope::cta, id, lanes, inst});
}

void Block::lanes_exited(Warp& warp) {
  if (warp.splits().empty()) {
    --live_warps_;
    if (listener_) listener_->on_warp_exit(warp);
  }
  for (uint32_t id = 0; id < barriers_.size(); ++id) {
    BlockBarrier& b = barriers_[id];
    if (!b.in_use) continue;
    count_full(b);
    if (is_full(b, warp.index())) release_passing(b, warp.index(), id);
    complete_if_full(id, nullptr);
  }
  if (cluster || own_cluster_) barrier_cluster().end_phase_if_full();
}

AsyncGroups& Block::async_groups(GroupKind kind, uint32_t warp, uint32_t lane) {
  auto& all = async_groups_[static_cast<size_t>(kind) - 1];
  if (all.empty()) all.resize(warps_.size() * kLanes);
  return all[warp * kLanes + lane];
}

}  // namespace fb::simt
