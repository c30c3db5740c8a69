#include "virtual_node/race/sync/sync_async.h"

#include <memory>
#include <utility>

namespace fb::race {

void AsyncSync::access(WarpState& s, const simt::Access& access, AccessContext& context) {
  BlockState& block = *s.block;
  context.cell.block = block.id + (access.kind == AccessKind::load ? kAsyncReads : kAsyncWrites);
  context.cell.epoch = block.async_epoch;
  context.cell.spread = kOneLane;
  // Reductions of copies are relaxed, each by itself; PTX gives them the scope of the GPU, through the switch the
  // system's. Everything else that a copy does is weak.
  context.cell.strong = access.kind == AccessKind::atomic;
  if (context.cell.strong != 0 && access.scope == Scope::none)
    context.cell.scope = static_cast<uint32_t>(access.proxy == Proxy::multimem ? Scope::sys : Scope::gpu) & 7;
  context.cell.whole = context.cell.element = 7;
  // cp.async goes through the generic proxy.
  context.async = access.proxy != Proxy::generic;
  each_lane(access.lanes, [&](uint32_t lane) {
    context.cell.lane = lane & 31;
    context.lanes = Mask{1} << lane;
    memory_.each_range(s, access.addresses[lane], access.bytes, [&](const ShadowRange& range) {
      // An access has at most 128 bytes: it is in one piece.
      const bool looked_at = range.allocation ? looked_at_.at(range.offset) : range.observed;
      if (looked_at || context.cell.strong != 0) check_.apply(context, range, access.bytes);
    });
  });
}

void AsyncSync::issue(const simt::AsyncCopy& copy) {
  BlockState* block = state_.live.block(copy.block);
  if (!block) return;
  // The copy with number n has epoch n + 1.
  block->copies[copy.sequence] = {block->id, static_cast<uint16_t>(copy.warp->index() + 1), copy.lanes,
                                  static_cast<Epoch>(copy.sequence + 1)};
  block->async_epoch = static_cast<Epoch>(copy.sequence + 2);
}

void AsyncSync::begin(const simt::AsyncCopy& copy) {
  completing_ = nullptr;
  BlockState* block = state_.live.block(copy.block);
  if (!block) return;
  const auto issue = block->copies.find(copy.sequence);
  if (issue != block->copies.end()) completing_ = &issue->second;
}

void AsyncSync::end(const simt::AsyncCopy& copy) {
  completing_ = nullptr;
  if (BlockState* block = state_.live.block(copy.block)) block->copies.erase(copy.sequence);
}

void AsyncSync::signal_mbarrier(simt::Block& owner, const std::byte* at) {
  if (!completing_) return;
  const Mask lanes = completing_->lanes == 0 ? simt::kAllLanes : completing_->lanes;
  complete(completing_->block, completing_->warp, lanes, completing_->epoch, owner, at);
}

// All copies of the lane that the arrival waited for, not only the one that happened to be the last.
void AsyncSync::arrive(simt::Warp& w, uint32_t lane, uint64_t before, simt::Block& owner, const std::byte* at) {
  const BlockState* issuer = state_.live.block(&w.block());
  if (!issuer || before == 0) return;
  complete(issuer->id, static_cast<uint16_t>(w.index() + 1), Mask{1} << lane, static_cast<Epoch>(before), owner, at);
}

void AsyncSync::complete(BlockId copied_by, uint16_t warp, Mask lanes, Epoch epoch, simt::Block& owner,
                         const std::byte* at) {
  BlockState* block = state_.live.block(&owner);
  if (!block) return;
  const auto offset = static_cast<uint32_t>(at - owner.shared());
  auto clock = std::make_shared<Clock>();
  for (const BlockId part : {kAsyncWrites, kAsyncReads})
    clock->add(state_.agents.block(copied_by).stream_epoch, Entry{copied_by + part, warp, lanes, epoch});
  const ClockRef done = std::move(clock);
  BarrierClock& barrier = block->mbarriers[offset];
  barrier.clock = state_.joiner.join(barrier.clock, {done, done});
}

void AsyncSync::group(WarpState& s, const simt::Sync& sync) {
  BlockState& block = *s.block;
  each_lane(sync.lanes, [&](uint32_t lane) {
    const uint32_t kind = sync.id & ~simt::kGroupsMask, newest = sync.id & simt::kGroupsMask;
    auto& commits = block.commits[kind | (s.index * simt::kLanes + lane)];
    if (sync.kind == simt::SyncKind::async_commit) {
      commits.push_back(block.async_epoch);
      return;
    }
    if (commits.size() <= newest) return;
    const Epoch done = commits[commits.size() - 1 - newest];
    const bool only_reads = s.traits[sync.inst->origin].waits_for_reads;
    if (!only_reads) commits.erase(commits.begin(), commits.end() - static_cast<std::ptrdiff_t>(newest));
    auto clock = std::make_shared<Clock>();
    const auto add = [&](BlockId part) {
      clock->add(block.stream_epoch,
                 Entry{block.id + part, static_cast<uint16_t>(s.index + 1), Mask{1} << lane, done - 1});
    };
    add(kAsyncReads);
    if (!only_reads) add(kAsyncWrites);
    const ClockRef complete = std::move(clock);
    s.acquire(Mask{1} << lane, {complete, complete}, state_.joiner);
  });
}

}  // namespace fb::race
