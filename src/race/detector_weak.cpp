// Weak delivery: older contents are kept for a while, and loads that nothing orders behind a write may get them.
//
// What never happens: a thread reads older bytes than it has read or written, older than a write that is ordered before
// it, or older than a write which somebody saw with a strong load and then released. So no outcome shows up that the
// model forbids. That nobody reads from the future (load buffering) is a limit of this way.

#include <algorithm>
#include <bit>

#include "base/hash.h"
#include "race/detector.h"
#include "race/state.h"

namespace fb::race {
namespace {

uint64_t name_of_warp(BlockId block, uint32_t warp) { return uint64_t{block} << 8 | warp; }

}  // namespace

void Detector::keep_past(const Doing& doing, Line& line, const Whereabouts& at, uint32_t begin, uint32_t end) {
  ++writes_;
  // Whole lines are data, however strong the stores are.
  const bool flag = doing.mark.strong && end - begin < kLineBytes;
  const bool sampled =
      flag || options_.weak_lines == 1 || mix(options_.seed, {at.shadow->number(), at.line}) % options_.weak_lines == 0;
  if (!sampled || doing.mark.access() == AccessKind::atomic) {
    // Older bytes than these nobody may get, or the write would come between a read and a write that are one.
    if (line.extras) {
      std::erase_if(line.extras->pasts.list, [&](const Past& p) { return p.begin < end && p.end > begin; });
    }
    if (!sampled) return;
  }
  auto& list = line.extra().pasts.list;
  if (list.size() == kMostPasts) list.erase(list.begin());
  Past past;
  past.begin = static_cast<uint8_t>(begin);
  past.end = static_cast<uint8_t>(end);
  past.by = doing.mark;
  past.number = writes_;
  past.bytes.assign(at.host + begin, at.host + end);
  list.push_back(std::move(past));
}

void Detector::choose_past(Doing& doing, Line& line, uint32_t begin, uint32_t end) {
  WarpState& s = *doing.warp;
  const uint64_t self = name_of_warp(s.block->id, s.index);
  auto& list = line.extras->pasts.list;
  const uint32_t lane_bytes = doing.lane_bytes;
  // Lane by lane: where the lane's bytes begin in the line.
  const auto each = [&](auto f) {
    if (doing.mark.spread >= kOneLane)
      return f(doing.mark.spread == kOneLane ? Mask{1} << doing.mark.lane : doing.lanes, begin);
    for (uint32_t offset = begin; offset < end; offset += lane_bytes) f(doing.mark.lanes_at(offset), offset);
  };
  each([&](Mask lanes, uint32_t offset) {
    const uint32_t last = offset + lane_bytes;
    const Past* chosen = nullptr;
    bool any = false;
    for (auto p = list.rbegin(); p != list.rend(); ++p) {
      if (p->begin >= last || p->end <= offset) continue;
      // Only whole: half an access from the past would tear it.
      if (p->begin > offset || p->end < last) break;
      if ((p->settled && *p->settled) || (p->by.block == s.block->id && p->by.warp == s.index) ||
          std::ranges::find(p->seen_by, self) != p->seen_by.end() || is_ordered(doing, p->by, offset))
        break;
      any = true;
      if (options_.weak_chance > 1 && rng_.below(options_.weak_chance) != 0) break;
      chosen = &*p;
      // Of a flag only the value before the last: what it carried is remembered no longer.
      if (doing.mark.strong || rng_.below(2) == 0) break;
    }
    if (chosen) {
      for (Mask m = lanes; m != 0; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        old_bytes_[lane] = chosen->bytes.data() + (offset - chosen->begin);
      }
      doing.late |= lanes;
    }
    if (!any) return;
    // What was read is the newest, or all that came before the chosen one: not older next time.
    for (Past& p : list) {
      if (p.begin >= last || p.end <= offset || (chosen && p.number >= chosen->number)) continue;
      if (std::ranges::find(p.seen_by, self) == p.seen_by.end()) p.seen_by.push_back(self);
      if (!doing.mark.strong || !p.by.strong) continue;
      if (!p.settled) p.settled = std::make_shared<bool>(false);
      s.observed.push_back(p.settled);
    }
  });
}

void Detector::settle(WarpState& s) {
  for (const auto& settled : s.observed) *settled = true;
  s.observed.clear();
}

}  // namespace fb::race
