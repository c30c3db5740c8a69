#include "virtual_node/race/check/stale_values.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "common/base/hash.h"

namespace fb::race {
namespace {

uint64_t warp_key(BlockId block, uint32_t warp) { return uint64_t{block} << 8 | warp; }

}  // namespace

void StaleValues::keep(const AccessContext& access, Line& line, const LineRef& at, uint32_t begin, uint32_t end,
                       ReleasesRef releases) {
  ++writes_;
  // Whole lines are data, also when the stores are strong.
  const bool flag = access.cell.strong && end - begin < kLineBytes;
  const bool sampled =
      flag || options_.weak_lines == 1 || mix(options_.seed, {at.shadow->number(), at.line}) % options_.weak_lines == 0;
  if (!sampled || access.cell.access() == AccessKind::atomic) {
    // No load may return older bytes than these: the write would come between the read and the write of an atomic.
    if (line.extras)
      std::erase_if(line.extras->stale, [&](const StaleValue& v) { return v.begin < end && v.end > begin; });
    if (!sampled) return;
  }
  auto& list = line.extra().stale;
  if (list.size() == kMostStaleValues) list.erase(list.begin());
  StaleValue value;
  value.begin = static_cast<uint8_t>(begin);
  value.end = static_cast<uint8_t>(end);
  value.by = access.cell;
  value.number = writes_;
  value.bytes.assign(at.host + begin, at.host + end);
  value.releases = std::move(releases);
  list.push_back(std::move(value));
}

void StaleValues::choose(AccessContext& access, Line& line, uint32_t begin, uint32_t end) {
  WarpState& s = *access.warp;
  const uint64_t self = warp_key(s.block->id, s.index);
  auto& list = line.extras->stale;
  const uint32_t lane_bytes = access.lane_bytes;
  // Lane by lane, with the offset of the lane's bytes in the line.
  const auto each = [&](auto f) {
    if (access.cell.spread >= kOneLane)
      return f(access.cell.spread == kOneLane ? Mask{1} << access.cell.lane : access.lanes, begin);
    for (uint32_t offset = begin; offset < end; offset += lane_bytes) f(access.cell.lanes_at(offset), offset);
  };
  each([&](Mask lanes, uint32_t offset) {
    const uint32_t last = offset + lane_bytes;
    const StaleValue* chosen = nullptr;
    bool any = false;
    for (auto v = list.rbegin(); v != list.rend(); ++v) {
      if (v->begin >= last || v->end <= offset) continue;
      // Only whole: a value that covers half of the access would tear it.
      if (v->begin > offset || v->end < last) break;
      if ((v->published && *v->published) || (v->by.block == s.block->id && v->by.warp == s.index) ||
          std::ranges::find(v->seen_by, self) != v->seen_by.end() || order_.orders(access, v->by, offset))
        break;
      any = true;
      if (options_.weak_chance > 1 && rng_.below(options_.weak_chance) != 0) break;
      chosen = &*v;
      // Of a flag only the value before the last: releases of older values are not kept.
      if (access.cell.strong || rng_.below(2) == 0) break;
    }
    // A loop that polls may be two instructions: compilers peel its first load off.
    const Site site = access.cell.strong ? Site{0} : access.cell.site;
    const OldReads::Load load{s.block->id, s.index, site, &line, offset};
    if (!chosen) {
      old_reads_.came_again(load);
    } else {
      old_reads_.add(load, access.cell, static_cast<uint32_t>(std::countr_zero(lanes)), chosen->by);
      for (Mask m = lanes; m != 0; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        old_bytes_[lane] = chosen->bytes.data() + (offset - chosen->begin);
      }
      access.stale |= lanes;
    }
    if (!any) return;
    // Coherence: the writes up to the one that was read are seen, and the next load returns nothing older.
    for (StaleValue& v : list) {
      if (v.begin >= last || v.end <= offset || (chosen && v.number >= chosen->number)) continue;
      if (std::ranges::find(v.seen_by, self) == v.seen_by.end()) v.seen_by.push_back(self);
      if (!access.cell.strong || !v.by.strong) continue;
      if (!v.published) v.published = std::make_shared<bool>(false);
      s.observed.push_back(v.published);
    }
  });
}

void StaleValues::deliver(simt::Warp& w, Mask lanes) {
  // The other lanes must not get what was chosen for an earlier load.
  for (uint32_t lane = 0; lane < simt::kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) old_bytes_[lane] = nullptr;
  }
  w.old_bytes = old_bytes_;
}

}  // namespace fb::race
