#include "virtual_node/race/check/access_check.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "virtual_node/race/agents/card_release.h"
#include "virtual_node/race/shadow/access_runs.h"

namespace fb::race {
namespace {

// Both by the same lanes, at the same offsets of the line.
bool same_lanes(const ShadowCell& a, const ShadowCell& b) {
  return a.block == b.block && a.warp == b.warp && a.lane == b.lane && a.spread == b.spread;
}

// The same lanes have read the bytes that they write now.
bool is_update(const ShadowCell& write, const Segment& segment) {
  const auto own = [&](const ShadowCell& read) { return same_lanes(read, write); };
  return own(segment.read) || (segment.more_reads && std::ranges::any_of(*segment.more_reads, own));
}

// A volatile access to a word, and a weak store of it: a flag of which one side alone says so.
bool is_flag_as_meant(const ShadowCell& a, const ShadowCell& b) {
  const auto is_weak_store = [](const ShadowCell& c) { return c.access() == AccessKind::store && !c.strong; };
  return a.element == b.element && a.element == a.whole &&
         ((a.is_volatile && is_weak_store(b)) || (b.is_volatile && is_weak_store(a)));
}

}  // namespace

void AccessCheck::apply(AccessContext& access, const ShadowRange& range, uint64_t bytes) {
  const uint32_t lane = access.cell.lane;
  if (!access.warp) ++accesses_;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t at = range.offset + done;
    if (at % Shadow::kPageBytes == 0 && bytes - done >= Shadow::kPageBytes && is_bulk(access, range)) {
      apply_to_page(access, range, done);
      done += Shadow::kPageBytes;
      continue;
    }
    const auto begin = static_cast<uint32_t>(at % kLineBytes);
    const auto size = static_cast<uint32_t>(std::min<uint64_t>(kLineBytes - begin, bytes - done));
    // The lane at byte 0 of this line.
    if (access.cell.spread < kOneLane) {
      const auto passed = static_cast<uint32_t>(done >> access.cell.spread);
      access.cell.lane = (lane + passed - (begin >> access.cell.spread)) % simt::kLanes;
    }
    const uint64_t index = at / kLineBytes;
    std::byte* host = range.host ? range.host + done - begin : nullptr;
    apply_to_line(access, range.shadow->line(index), {range.shadow, index, host, range.allocation}, begin,
                  begin + size);
    done += size;
  }
  access.cell.lane = lane & 31;
}

// Of an operation that touches memory itself. Older contents of what it writes are not kept: a load that could return
// them is not ordered behind it, and that is a race whatever the load returns.
bool AccessCheck::is_bulk(const AccessContext& access, const ShadowRange& range) const {
  return !access.warp && access.operation && access.cell.spread == kOneLane &&
         (!access.cell.strong || access.cell.of_card()) && !history_.watches(*range.shadow);
}

// Whole pages at once, as long as everything in them is ordered before the access; otherwise line by line.
void AccessCheck::apply_to_page(AccessContext& access, const ShadowRange& range, uint64_t done) {
  const uint64_t at = range.offset + done, page = at / Shadow::kPageBytes;
  if (Segment* whole = range.shadow->whole_page(page); whole && is_ordered_before(access, *whole)) {
    if (access.cell.writes()) access.cell.update = is_update(access.cell, *whole);
    return record(access, *whole);
  }
  for (uint64_t k = 0; k < Shadow::kPageLines; ++k) {
    const uint64_t index = at / kLineBytes + k;
    std::byte* host = range.host ? range.host + done + k * kLineBytes : nullptr;
    Line& line = range.shadow->line(index);
    const LineRef ref{range.shadow, index, host, range.allocation};
    line.each(0, kLineBytes, [&](Segment& segment) {
      check_segment(access, segment, ref);
      record(access, segment);
    });
    if (!access.cell.writes()) continue;
    line.merge(0, kLineBytes);
    if (!line.extras) continue;
    line.extras->stale.clear();
    line.extras->named |= !line.extras->flags.empty();
    line.extras->flags.erase(0, kLineBytes);
    if (!line.extras->named) line.extras.reset();
  }
  if (access.cell.writes()) range.shadow->make_whole(page, access.cell);
}

bool AccessCheck::is_ordered_before(const AccessContext& access, const Segment& segment) const {
  const auto is_ordered = [&](const ShadowCell& earlier) {
    return !earlier || same_lanes(earlier, access.cell) ||
           (!order_.depends_on_byte(access, earlier) && order_.orders(access, earlier, 0));
  };
  if (!is_ordered(segment.write)) return false;
  if (!access.cell.writes()) return true;
  return is_ordered(segment.read) && (!segment.more_reads || std::ranges::all_of(*segment.more_reads, is_ordered));
}

void AccessCheck::apply_to_line(AccessContext& access, Line& line, const LineRef& at, uint32_t begin, uint32_t end) {
  if (history_.watches(*at.shadow)) history_.note(access, at, begin, end);
  ReleasesRef replaced;
  if (access.cell.writes() && access.cell.of_card() && stale_.enabled())
    replaced = releases_in(order_.agents(), line, begin, end);
  line.each(begin, end, [&](Segment& segment) {
    work_ += segment.more_reads ? 1 + segment.more_reads->size() / 4 : 1;
    check_segment(access, segment, at);
    if (access.cell.access() != AccessKind::store) unwritten_.check(access, segment, at);
    record(access, segment);
  });
  if (access.cell.writes()) {
    line.merge(begin, end);
    if (stale_.enabled() && at.host) stale_.keep(access, line, at, begin, end, std::move(replaced));
    // A weak store over a flag ends its release sequence. What a card's writes release is found by the write.
    if (line.extras && (!access.cell.strong || access.cell.of_card())) line.extras->flags.erase(begin, end);
  } else if (access.may_be_stale && stale_.enabled() && line.extras && !line.extras->stale.empty()) {
    stale_.choose(access, line, begin, end);
  }
}

void AccessCheck::check_segment(AccessContext& access, const Segment& segment, const LineRef& at) {
  if (access.cell.writes()) access.cell.update = is_update(access.cell, segment);
  check_pair(access, segment.write, segment, at);
  if (!access.cell.writes()) return;
  check_pair(access, segment.read, segment, at);
  if (!segment.more_reads) return;
  for (const ShadowCell& read : *segment.more_reads) check_pair(access, read, segment, at);
}

void AccessCheck::check_pair(const AccessContext& access, const ShadowCell& earlier, const Segment& segment,
                             const LineRef& at) {
  if (!earlier) return;
  const ShadowCell& cell = access.cell;
  // Program order, byte for byte.
  if (same_lanes(earlier, cell) && cell.spread != kEveryLane) return;
  const bool strong = order_.are_morally_strong(earlier, cell);
  if (strong && !strict_) return;
  if (allow_volatile_ && is_flag_as_meant(earlier, cell)) return;
  // As a whole first, then byte by byte where the lanes differ.
  const uint32_t step = uint32_t{1} << std::min({uint32_t{earlier.spread}, uint32_t{cell.spread}, 5u});
  for (uint32_t offset = segment.begin; offset < segment.end; offset += step) {
    if (order_.orders(access, earlier, offset)) {
      if (offset == segment.begin && !order_.depends_on_byte(access, earlier)) return;
      continue;
    }
    // The write was read by a strong load before, so it is ordered; its thread's earlier accesses are not, such as the
    // load of a read-modify-write that is not atomic.
    if (earlier.writes() && order_.has_seen(access, earlier, at, offset) && !(earlier.update && cell.writes()))
      continue;
    if (strong) {
      // In strict mode a flag does not order the other elements of its vector.
      const bool in_band =
          earlier.writes() && !cell.writes() && earlier.element < earlier.whole && cell.element < cell.whole;
      if (in_band) reporter_.report(access, earlier, at, offset);
      return;
    }
    return reporter_.report(access, earlier, at, offset);
  }
}

void AccessCheck::record(const AccessContext& access, Segment& segment) {
  constexpr size_t kFewReads = 8, kMostReads = 64;
  const ShadowCell& cell = access.cell;
  if (cell.writes()) {
    segment.write = cell;
    segment.read = {};
    // What is read by several once is read by several again.
    if (segment.more_reads) segment.more_reads->clear();
    return;
  }
  // A polling warp replaces its previous read instead of adding one. Reads of one word by several lanes, one after the
  // other, are kept apart only where that may cost something: they matter to code without __syncwarp.
  const auto own = [&](const ShadowCell& read) {
    return read.block == cell.block && read.warp == cell.warp && (!sanitizer_ || same_lanes(read, cell));
  };
  if (own(segment.read)) {
    segment.read = cell;
    return;
  }
  if (segment.more_reads) {
    if (const auto read = std::ranges::find_if(*segment.more_reads, own); read != segment.more_reads->end()) {
      *read = cell;
      return;
    }
  }
  const auto is_ordered = [&](const ShadowCell& read) { return !read || order_.orders(access, read, segment.begin); };
  if (is_ordered(segment.read)) {
    segment.read = cell;
    return;
  }
  if (!segment.more_reads) {
    segment.more_reads = std::make_unique<std::vector<ShadowCell>>();
    segment.more_reads->reserve(kFewReads);
  }
  // Prune ordered reads only when the list doubles (amortised).
  auto& more = *segment.more_reads;
  if (more.size() >= kFewReads && std::has_single_bit(more.size())) std::erase_if(more, is_ordered);
  // The list is bounded: of that many unordered reads the older half is dropped, and a race with one of them alone is
  // missed.
  if (more.size() == kMostReads) more.erase(more.begin(), more.begin() + kMostReads / 2);
  more.push_back(cell);
}

void AccessCheck::check_overlapping_lanes(const AccessContext& store, const simt::Access& access,
                                          ShadowMemory& memory) {
  // Strong stores of one word are performed one after the other.
  if (store.cell.strong && access.element == 0) return;
  // Two lanes that store different values rather than two that store the same.
  struct {
    uint32_t earlier = 0, later = 0;
    bool found = false, same = true;
  } pair;
  for (Mask m = access.lanes; m != 0 && pair.same; m &= m - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(m));
    for (Mask k = m & (m - 1); k != 0 && pair.same; k &= k - 1) {
      const auto j = static_cast<uint32_t>(std::countr_zero(k));
      const mem::Address a = access.addresses[i], b = access.addresses[j];
      if (a + access.bytes <= b || b + access.bytes <= a) continue;
      const bool same = a == b && access.values && store_the_same(access, i, j);
      if (!pair.found || !same) pair = {i, j, true, same};
    }
  }
  if (!pair.found) return;
  memory.each_range(*store.warp, access.addresses[pair.later], access.bytes, [&](const ShadowRange& range) {
    AccessContext later = store;
    later.lanes = simt::kAllLanes;
    later.cell.spread = kOneLane;
    later.cell.lane = pair.later & 31;
    later.cell.same = pair.same;
    ShadowCell earlier = later.cell;
    earlier.lane = pair.earlier & 31;
    const auto in_line = static_cast<uint32_t>(range.offset % kLineBytes);
    reporter_.report(later, earlier, {range.shadow, range.offset / kLineBytes, range.host, range.allocation}, in_line);
  });
}

}  // namespace fb::race
