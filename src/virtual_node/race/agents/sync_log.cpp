#include "virtual_node/race/agents/sync_log.h"

#include <tuple>

namespace fb::race {

uint64_t SyncLog::note(const SyncEdge& edge) {
  const size_t slot = next_ % kEdges;
  if (slot >= edges_.size()) edges_.resize(slot + 1);
  edges_[slot] = edge;
  edges_[slot].number = next_;
  return next_++;
}

SyncEdge* SyncLog::edge(uint64_t number) {
  const size_t slot = number % kEdges;
  return slot < edges_.size() && edges_[slot].number == number ? &edges_[slot] : nullptr;
}

bool SyncLog::is_read_before(const SyncEdge& e, const ShadowCell& later) const {
  if (same_block(e.read.block, later.block)) return true;
  const StreamEpoch read = agents_.block(e.read.block).stream_epoch, now = agents_.block(later.block).stream_epoch;
  return read.stream != 0 && read.stream == now.stream && read.seq < now.seq;
}

const SyncEdge* SyncLog::last_of_card(uint64_t pair, const ShadowCell& later) const {
  const SyncEdge* best = nullptr;
  const auto rank = [&](const SyncEdge& e) {
    return std::tuple(agents_.operation_of(e.write.block).card.pair == pair, e.number);
  };
  for (const SyncEdge& e : edges_) {
    if (e.number == 0 || !agents_.operation_of(e.write.block).of_card() || !is_read_before(e, later)) continue;
    if (!best || rank(e) > rank(*best)) best = &e;
  }
  return best;
}

const SyncEdge* SyncLog::last_between(const ShadowCell& earlier, uint32_t lane, const ShadowCell& later) const {
  // Carried on by a read-modify-write of another thread.
  const auto carries_its_release = [&](const SyncEdge& e) {
    return e.released && e.release.lane_epoch >= earlier.epoch && same_block(e.release.block, earlier.block);
  };
  const auto written_after = [&](const SyncEdge& e) {
    if (carries_its_release(e)) return true;
    if (same_block(e.write.block, earlier.block)) return e.write.epoch >= earlier.epoch;
    return e.writer_clock &&
           e.writer_clock->covers(agents_.block(earlier.block).stream_epoch, earlier.block,
                                  static_cast<uint16_t>(earlier.warp + 1), Mask{1} << lane, earlier.epoch);
  };
  // Missed synchronisation explains more than one that worked; then the closer to both threads, the better.
  const auto rank = [&](const SyncEdge& e) {
    const bool its_block = same_block(e.write.block, earlier.block) || carries_its_release(e);
    const bool same_writer = its_block && e.write.warp == earlier.warp && e.write_lane == lane;
    const bool same_reader = e.read.warp == later.warp;
    return std::tuple(e.missed != MissedSync::none, its_block, same_writer, same_reader, e.number);
  };
  const SyncEdge* best = nullptr;
  for (const SyncEdge& e : edges_) {
    if (e.number == 0 || !is_read_before(e, later) || !written_after(e)) continue;
    if (!best || rank(e) > rank(*best)) best = &e;
  }
  return best;
}

const SyncEdge* SyncLog::missed_on_the_way(const ShadowCell& earlier, const ShadowCell& later) const {
  const SyncEdge* best = nullptr;
  for (const SyncEdge& e : edges_) {
    if (e.number == 0 || e.missed == MissedSync::none) continue;
    const bool set_after = same_block(e.write.block, earlier.block) && e.write.epoch >= earlier.epoch;
    if (!set_after && !same_block(e.read.block, later.block)) continue;
    if (!best || e.number > best->number) best = &e;
  }
  return best;
}

const SyncEdge* SyncLog::read_by_others(const ShadowCell& earlier, const ShadowCell& later) const {
  const SyncEdge* best = nullptr;
  for (const SyncEdge& e : edges_) {
    if (e.number == 0 || !e.released || e.missed != MissedSync::none) continue;
    if (!same_block(e.write.block, earlier.block) || e.write.epoch < earlier.epoch) continue;
    if (same_block(e.read.block, earlier.block) || same_block(e.read.block, later.block)) continue;
    if (!best || e.number > best->number) best = &e;
  }
  return best;
}

}  // namespace fb::race
