#include "virtual_node/race/agents/happens_before.h"

#include <algorithm>
#include <bit>

namespace fb::race {
namespace {

// The lanes of the current access that touch this byte.
Mask lanes_of(const AccessContext& access, uint32_t offset) {
  return access.cell.spread == kEveryLane ? access.lanes : access.cell.lanes_at(offset);
}

}  // namespace

// Cards access memory word by word, and in any order. Their atomic operations are atomic among those of one card only
// (IBV_ATOMIC_HCA); a word that one card updates, others may read.
bool HappensBefore::are_words_of_cards(const ShadowCell& a, const ShadowCell& b) const {
  constexpr uint32_t kLargestWord = 3;
  const auto is_word = [](const ShadowCell& c) { return (c.of_card() ? c.whole : c.element) <= kLargestWord; };
  const bool is_of_one_card =
      a.of_card() && b.of_card() && agents_.block(a.block).device == agents_.block(b.block).device;
  const auto is_update = [](const ShadowCell& c) { return c.of_card() && c.access() == AccessKind::atomic; };
  if ((is_update(a) || is_update(b)) && a.writes() && b.writes() && !is_of_one_card) return false;
  if (a.of_card() && b.of_card()) return is_word(a) && is_word(b);
  return is_word(a.of_card() ? b : a) && agents_.in_scope(a.reach(), a.block, b.block) &&
         agents_.in_scope(b.reach(), b.block, a.block);
}

bool HappensBefore::are_morally_strong(const ShadowCell& a, const ShadowCell& b) const {
  if (!a.strong || !b.strong) return false;
  if (a.of_card() || b.of_card()) return are_words_of_cards(a, b);
  // Hardware performs accesses of up to 16 bytes as a whole, in whatever elements.
  if (a.element != b.element && (strict_ || a.whole != b.whole)) return false;
  if ((a.through() == Proxy::async) != (b.through() == Proxy::async)) return false;
  return agents_.in_scope(a.reach(), a.block, b.block) && agents_.in_scope(b.reach(), b.block, a.block);
}

bool HappensBefore::covers(const AccessContext& access, const ShadowCell& cell, Mask lanes, Mask mine, bool async,
                           const ClockRef& clock) const {
  WarpState* s = access.warp;
  if (s && !async && cell.block == access.block->id) {
    if (cell.epoch <= access.block->base) return true;
    if (cell.warp == s->index) {
      if (cell.epoch <= s->base) return true;
      if (std::has_single_bit(mine)) lanes &= ~mine;  // program order
      if (lanes == 0) return true;
    }
  }
  const auto warp = static_cast<uint16_t>(cell.warp + 1);
  const StreamEpoch of = agents_.block(cell.block).stream_epoch;
  const auto by = [&](const ClockRef& c) { return c && c->covers(of, cell.block, warp, lanes, cell.epoch); };
  if (s && !async) {
    auto& cached = s->covered[(cell.block * 33 + cell.warp) % WarpState::kCovered];
    if (cached.block == cell.block && cached.warp == warp && cached.epoch >= cell.epoch) return true;
    if (clock && clock->covers(of, cell.block, warp, simt::kAllLanes, cell.epoch)) {
      cached = {cell.block, warp, cell.epoch};
      return true;
    }
  }
  if (by(clock)) return true;
  if (!s) return false;
  return std::ranges::any_of(s->lane_clocks, [&](const LaneClock& k) {
    return (mine & ~k.lanes) == 0 && by(async ? k.clock.async_visible : k.clock.all);
  });
}

bool HappensBefore::orders(const AccessContext& access, const ShadowCell& earlier, uint32_t offset) const {
  if (earlier.block == access.cell.block && !access.warp) return true;  // the same operation
  const Mask theirs = earlier.lanes_at(offset);
  const Mask mine = lanes_of(access, offset);
  if (!access.warp) {
    // Copies and the judge access whole tensors, which few kernels have written: ask once for each kernel.
    const BlockInfo& by = agents_.block(earlier.block);
    if (by.operation == access.operation->covered_operation) return true;
    const ClockRef& clock = access.operation->incoming;
    if (!clock || !clock->covers(by.stream_epoch)) return covers(access, earlier, theirs, mine, access.async, clock);
    access.operation->covered_operation = by.operation;
    return true;
  }
  // Writes of the generic proxy need a proxy fence before the asynchronous proxy sees them; reads do not.
  if (access.async && earlier.through() != Proxy::async && earlier.writes())
    return covers(access, earlier, theirs, mine, true, access.warp->clock.async_visible);
  return covers(access, earlier, theirs, mine, false, access.warp->clock.all);
}

bool HappensBefore::orders_threads(const AccessContext& access, const ShadowCell& earlier, uint32_t earlier_lane,
                                   uint32_t later_lane) const {
  return access.warp &&
         covers(access, earlier, Mask{1} << earlier_lane, Mask{1} << later_lane, false, access.warp->clock.all);
}

bool HappensBefore::depends_on_byte(const AccessContext& access, const ShadowCell& earlier) const {
  if (earlier.spread == kOneLane || earlier.spread == kEveryLane) return false;
  if (!access.warp) return false;
  const WarpState& s = *access.warp;
  if (!access.async && earlier.block == access.block->id &&
      (earlier.epoch <= access.block->base || (earlier.warp == s.index && earlier.epoch <= s.base)))
    return false;
  const ClockRef& clock = access.async ? s.clock.async_visible : s.clock.all;
  return !clock || !clock->covers(agents_.block(earlier.block).stream_epoch, earlier.block,
                                  static_cast<uint16_t>(earlier.warp + 1), simt::kAllLanes, earlier.epoch);
}

bool HappensBefore::has_seen(const AccessContext& access, const ShadowCell& write, const LineRef& at,
                             uint32_t offset) const {
  if (!access.warp || !write.strong) return false;
  const uint32_t element = uint32_t{1} << (write.of_card() ? access.cell.element : write.element);
  const SeenWrite seen{&at.shadow->line(at.line),
                       offset / element * element,
                       write.block,
                       static_cast<uint16_t>(write.warp + 1),
                       write.lane_at(offset),
                       write.epoch};
  const auto by = [&](const SyncClock& c) { return c.seen && c.seen->covers(seen); };
  if (by(access.warp->clock)) return true;
  const Mask mine = lanes_of(access, offset);
  return std::ranges::any_of(access.warp->lane_clocks,
                             [&](const LaneClock& k) { return (mine & ~k.lanes) == 0 && by(k.clock); });
}

}  // namespace fb::race
