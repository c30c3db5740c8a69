// Accesses: which bytes, what is remembered of them, and whether that is ordered before.

#include <algorithm>
#include <bit>

#include "race/detector.h"
#include "race/pieces.h"
#include "race/state.h"

namespace fb::race {
namespace {

uint32_t log2_of(uint32_t bytes) { return static_cast<uint32_t>(std::bit_width(bytes) - 1); }

}  // namespace

Shadow& Detector::shadow_of(mem::Allocation& allocation) {
  if (!allocation.attachment) allocation.attachment = std::make_shared<Shadow>(next_shadow_++, allocation.size);
  return *static_cast<Shadow*>(allocation.attachment.get());
}

bool Detector::includes(Scope scope, BlockId own, BlockId other) const {
  const BlockInfo& a = agents_.block(own);
  const BlockInfo& b = agents_.block(other);
  switch (scope) {
    case Scope::sys:
      return true;
    case Scope::gpu:
      return a.device == b.device && agents_.operation(b.operation).kernel;
    case Scope::cluster:
      return same_block(own, other) || (a.cluster != 0 && a.cluster == b.cluster);
    case Scope::cta:
      return same_block(own, other);
    case Scope::none:
      return false;
  }
  return false;
}

bool Detector::are_morally_strong(const Mark& a, const Mark& b) const {
  if (!a.strong || !b.strong) return false;
  // Hardware performs accesses of up to 16 bytes as a whole, however they are divided into elements.
  if (a.element != b.element && (options_.strict || a.whole != b.whole)) return false;
  if ((a.through() == Proxy::async) != (b.through() == Proxy::async)) return false;
  return includes(a.reach(), a.block, b.block) && includes(b.reach(), b.block, a.block);
}

// --- Is it ordered?

bool Detector::is_known(const Doing& doing, const Mark& mark, Mask lanes, Mask mine, const ClockRef& clock) {
  WarpState* s = doing.warp;
  if (s && !doing.async && mark.block == doing.block->id) {
    if (mark.tick <= doing.block->base) return true;
    if (mark.warp == s->index) {
      if (mark.tick <= s->base) return true;
      if (std::has_single_bit(mine)) lanes &= ~mine;  // its own doing
      if (lanes == 0) return true;
    }
  }
  const auto warp = static_cast<uint16_t>(mark.warp + 1);
  const StreamPlace place = agents_.block(mark.block).place;
  const auto by = [&](const ClockRef& c) { return c && c->covers(place, mark.block, warp, lanes, mark.tick); };
  if (s && !doing.async) {
    auto& cached = s->cache[(mark.block * 33 + mark.warp) % WarpState::kKnown];
    if (cached.block == mark.block && cached.warp == warp && cached.tick >= mark.tick) return true;
    if (clock && clock->covers(place, mark.block, warp, simt::kAllLanes, mark.tick)) {
      cached = {mark.block, warp, mark.tick};
      return true;
    }
  }
  if (by(clock)) return true;
  if (!s) return false;
  return std::ranges::any_of(s->lanes, [&](const LaneKnowledge& k) {
    return (mine & ~k.lanes) == 0 && by(doing.async ? k.what.proxied : k.what.all);
  });
}

bool Detector::is_ordered(const Doing& doing, const Mark& mark, uint32_t offset) {
  if (mark.block == doing.mark.block && !doing.warp) return true;  // an operation's own doing
  const Mask theirs = mark.lanes_at(offset);
  const Mask mine = doing.mark.spread == kEveryLane ? doing.lanes : doing.mark.lanes_at(offset);
  if (!doing.warp) {
    // Copies and the judge go through whole tensors, which few kernels have written.
    const BlockInfo& by = agents_.block(mark.block);
    if (by.operation == doing.operation->knows_all_of) return true;
    const ClockRef& knows = doing.operation->knows;
    if (!knows || !knows->covers(by.place)) return is_known(doing, mark, theirs, mine, knows);
    doing.operation->knows_all_of = by.operation;
    return true;
  }
  // The asynchronous proxy must be told of writes of the generic one; that reads are over, it need not.
  if (doing.async && mark.through() != Proxy::async && mark.writes())
    return is_known(doing, mark, theirs, mine, doing.warp->known.proxied);
  if (doing.async) {
    Doing issuer = doing;
    issuer.async = false;
    return is_known(issuer, mark, theirs, mine, doing.warp->known.all);
  }
  return is_known(doing, mark, theirs, mine, doing.warp->known.all);
}

bool Detector::has_seen(const Doing& doing, const Mark& write, const Whereabouts& at, uint32_t offset) const {
  if (!doing.warp || !write.strong) return false;
  const uint32_t element = uint32_t{1} << write.element;
  const SeenWrite seen{&at.shadow->line(at.line),
                       offset / element * element,
                       write.block,
                       static_cast<uint16_t>(write.warp + 1),
                       write.lane_at(offset),
                       write.tick};
  const auto by = [&](const Knowledge& k) { return k.seen && k.seen->covers(seen); };
  if (by(doing.warp->known)) return true;
  const Mask mine = doing.mark.spread == kEveryLane ? doing.lanes : doing.mark.lanes_at(offset);
  return std::ranges::any_of(doing.warp->lanes,
                             [&](const LaneKnowledge& k) { return (mine & ~k.lanes) == 0 && by(k.what); });
}

// One earlier access that conflicts with what is being done.
void Detector::look_at(Doing& doing, const Mark& earlier, const Segment& segment, const Whereabouts& at) {
  if (!earlier) return;
  const Mark& mark = doing.mark;
  // The same thread again, byte for byte.
  if (earlier.block == mark.block && earlier.warp == mark.warp && earlier.lane == mark.lane &&
      earlier.spread == mark.spread && mark.spread != kEveryLane)
    return;
  const bool strong = are_morally_strong(earlier, mark);
  if (strong && !options_.strict) return;
  // As a whole first, then byte by byte where the lanes differ.
  const uint32_t step = uint32_t{1} << std::min({uint32_t{earlier.spread}, uint32_t{mark.spread}, 5u});
  for (uint32_t offset = segment.begin; offset < segment.end; offset += step) {
    if (is_ordered(doing, earlier, offset)) {
      // Known of all lanes: nothing more to ask.
      if (offset == segment.begin && !earlier_lanes_matter(doing, earlier)) return;
      continue;
    }
    // Seen, but not what its thread had done before: such as a load from the same place.
    if (earlier.writes() && has_seen(doing, earlier, at, offset) && !(earlier.update && mark.writes())) continue;
    if (strong) {
      // In strict mode a flag does not vouch for what lies beside it in the same vector.
      const bool in_band =
          earlier.writes() && !mark.writes() && earlier.element < earlier.whole && mark.element < mark.whole;
      if (in_band) report_race(doing, earlier, at, offset);
      return;
    }
    return report_race(doing, earlier, at, offset);
  }
}

bool Detector::earlier_lanes_matter(const Doing& doing, const Mark& earlier) const {
  if (earlier.spread == kOneLane || earlier.spread == kEveryLane) return false;
  if (!doing.warp) return false;
  const WarpState& s = *doing.warp;
  if (!doing.async && earlier.block == doing.block->id &&
      (earlier.tick <= doing.block->base || (earlier.warp == s.index && earlier.tick <= s.base)))
    return false;
  const ClockRef& clock = doing.async ? s.known.proxied : s.known.all;
  return !clock || !clock->covers(agents_.block(earlier.block).place, earlier.block,
                                  static_cast<uint16_t>(earlier.warp + 1), simt::kAllLanes, earlier.tick);
}

void Detector::look(Doing& doing, const Segment& segment, const Whereabouts& at) {
  if (doing.mark.writes()) doing.mark.update = has_read(doing, segment);
  look_at(doing, segment.write, segment, at);
  if (!doing.mark.writes()) return;
  look_at(doing, segment.read, segment, at);
  if (!segment.more_reads) return;
  for (const Mark& read : *segment.more_reads) look_at(doing, read, segment, at);
}

// The same lanes have read what they write now.
bool Detector::has_read(const Doing& doing, const Segment& segment) {
  const auto own = [&](const Mark& read) {
    return read.block == doing.mark.block && read.warp == doing.mark.warp && read.lane == doing.mark.lane &&
           read.spread == doing.mark.spread;
  };
  return own(segment.read) || (segment.more_reads && std::ranges::any_of(*segment.more_reads, own));
}

void Detector::leave(Doing& doing, Segment& segment) {
  constexpr size_t kFewReads = 8, kMostReads = 64;
  if (doing.mark.writes()) {
    segment.write = doing.mark;
    segment.read = {};
    segment.more_reads.reset();
    return;
  }
  // Who polls has read here before, and so have others who poll: who they are need not be asked again.
  const auto own = [&](const Mark& read) { return read.block == doing.mark.block && read.warp == doing.mark.warp; };
  if (own(segment.read)) {
    segment.read = doing.mark;
    return;
  }
  if (segment.more_reads) {
    if (const auto read = std::ranges::find_if(*segment.more_reads, own); read != segment.more_reads->end()) {
      *read = doing.mark;
      return;
    }
  }
  const auto is_over = [&](const Mark& read) { return !read || is_ordered(doing, read, segment.begin); };
  if (is_over(segment.read)) {
    segment.read = doing.mark;
    return;
  }
  if (!segment.more_reads) {
    segment.more_reads = std::make_unique<std::vector<Mark>>();
    segment.more_reads->reserve(kFewReads);
  }
  // Whom one of many readers knows is asked now and then, when there are twice as many.
  auto& more = *segment.more_reads;
  if (more.size() >= kFewReads && std::has_single_bit(more.size())) std::erase_if(more, is_over);
  if (more.size() == kMostReads) more.erase(more.begin());
  more.push_back(doing.mark);
}

// --- Which bytes

void Detector::touch(Doing& doing, Line& line, const Whereabouts& at, uint32_t begin, uint32_t end) {
  if (at.shadow->number() == why_shadow_ && why_shadow_ != 0) note_history(doing, at, begin, end);
  line.each(begin, end, [&](Segment& segment) {
    look(doing, segment, at);
    leave(doing, segment);
  });
  if (doing.mark.writes()) {
    line.unite(begin, end);
    if (options_.weak_lines != 0 && at.host) keep_past(doing, line, at, begin, end);
    // What a plain store overwrites is no signal any more.
    if (line.extras && !doing.mark.strong) line.extras->flags.erase(begin, end);
  } else if (doing.may_be_late && line.extras && !line.extras->pasts.list.empty()) {
    choose_past(doing, line, begin, end);
  }
}

void Detector::touch_range(Doing& doing, Shadow& shadow, const mem::Allocation* allocation, std::byte* host,
                           uint64_t offset, uint64_t bytes) {
  const uint32_t lane = doing.mark.lane;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t at = offset + done;
    const auto begin = static_cast<uint32_t>(at % kLineBytes);
    const auto size = static_cast<uint32_t>(std::min<uint64_t>(kLineBytes - begin, bytes - done));
    // The lane at byte 0 of this line.
    if (doing.mark.spread < kOneLane) {
      const auto passed = static_cast<uint32_t>(done >> doing.mark.spread);
      doing.mark.lane = (lane + passed - (begin >> doing.mark.spread)) % simt::kLanes;
    }
    const uint64_t index = at / kLineBytes;
    touch(doing, shadow.line(index), {&shadow, index, host ? host + done - begin : nullptr, allocation}, begin,
          begin + size);
    done += size;
  }
  doing.mark.lane = lane & 31;
}

void Detector::access_run(WarpState& s, Doing& doing, mem::Address a, uint64_t bytes) {
  each_piece(s, a, bytes, [&](Shadow& shadow, const mem::Allocation* allocation, std::byte* host, uint64_t offset) {
    touch_range(doing, shadow, allocation, host, offset, bytes);
  });
}

void Detector::on_access(simt::Warp& w, const simt::Access& access) {
  const mem::Address first = access.addresses[std::countr_zero(access.lanes)];
  if (!mem::is_global(first) && !mem::is_shared(first)) return;
  WarpState& s = state_of(w);
  Doing doing;
  doing.warp = &s;
  doing.block = s.block;
  doing.operation = s.block->operation;
  doing.lanes = access.lanes;
  Mark& mark = doing.mark;
  mark.block = s.block->id;
  mark.tick = s.block->tick;
  mark.site = s.first_site + access.inst->origin;
  mark.warp = s.index & 63;
  mark.kind = static_cast<uint32_t>(access.kind) & 3;
  const bool strong = access.kind == AccessKind::atomic || is_strong(access.order);
  mark.strong = strong;
  mark.scope = static_cast<uint32_t>(access.scope == Scope::none && strong ? Scope::gpu : access.scope) & 7;
  mark.proxy = static_cast<uint32_t>(access.proxy) & 3;
  mark.whole = log2_of(access.bytes) & 7;
  mark.element = log2_of(access.element == 0 ? access.bytes : access.element) & 7;
  if (access.proxy == Proxy::async || (!strong && s.traits[access.inst->origin].small_async))
    return async_access(s, access, doing);
  doing.may_be_late = access.kind == AccessKind::load && options_.weak_lines != 0 && mem::is_global(first);
  doing.lane_bytes = access.bytes;
  // Lanes that follow each other in memory are one run.
  const mem::Address* a = access.addresses;
  const uint32_t bytes = access.bytes;
  bool in_order = true;
  mem::Address last_end = 0;
  for (Mask left = access.lanes; left != 0;) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint32_t n = 1;
    while (lane + n < simt::kLanes && (access.lanes >> (lane + n) & 1) != 0 &&
           a[lane + n] == a[lane] + uint64_t{n} * bytes)
      ++n;
    Mask taken = n == simt::kLanes ? simt::kAllLanes : ((Mask{1} << n) - 1) << lane;
    mark.lane = lane & 31;
    if (n > 1) {
      mark.spread = log2_of(bytes) & 7;
    } else {
      mark.spread = kOneLane;
      // All at the same place: one access for memory.
      Mask same = 0;
      for (Mask m = left; m != 0; m &= m - 1) {
        const auto other = static_cast<uint32_t>(std::countr_zero(m));
        same |= Mask{a[other] == a[lane]} << other;
      }
      if (same != taken && (access.kind != AccessKind::store)) {
        mark.spread = kEveryLane;
        taken = same;
        doing.lanes = same;
      }
    }
    in_order &= a[lane] >= last_end;
    last_end = a[lane] + uint64_t{n} * bytes;
    access_run(s, doing, a[lane], uint64_t{n} * bytes);
    doing.lanes = access.lanes;
    left &= ~taken;
  }
  if (!in_order && access.kind == AccessKind::store) look_inside(s, access, mark);
  if (strong) strong_access(s, access, doing);
  if (doing.late != 0) {
    // The other lanes must not get what an earlier load was given.
    for (uint32_t lane = 0; lane < simt::kLanes; ++lane) {
      if ((doing.late >> lane & 1) == 0) old_bytes_[lane] = nullptr;
    }
    w.old_bytes = old_bytes_;
  }
}

// Two lanes of one store write the same bytes: which of them wins is anybody's guess.
void Detector::look_inside(WarpState& s, const simt::Access& access, const Mark& mark) {
  for (Mask m = access.lanes; m != 0; m &= m - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(m));
    for (Mask k = m & (m - 1); k != 0; k &= k - 1) {
      const auto j = static_cast<uint32_t>(std::countr_zero(k));
      const mem::Address a = access.addresses[i], b = access.addresses[j];
      if (a + access.bytes <= b || b + access.bytes <= a) continue;
      each_piece(s, b, access.bytes,
                 [&](Shadow& shadow, const mem::Allocation* allocation, std::byte* host, uint64_t offset) {
                   Doing doing;
                   doing.warp = &s;
                   doing.block = s.block;
                   doing.operation = s.block->operation;
                   doing.mark = mark;
                   doing.mark.spread = kOneLane;
                   doing.mark.lane = j & 31;
                   Mark other = doing.mark;
                   other.lane = i & 31;
                   const auto in_line = static_cast<uint32_t>(offset % kLineBytes);
                   report_race(doing, other, {&shadow, offset / kLineBytes, host, allocation}, in_line);
                 });
      return;
    }
  }
}

// --- Operations of streams

Detector::Doing Detector::doing_of(OperationState& op, AccessKind kind) {
  if (op.block == 0) op.block = agents_.add_block(op.number, 0, 0);
  Doing doing;
  doing.operation = &op;
  doing.mark.block = op.block;
  doing.mark.tick = 1;
  doing.mark.spread = kOneLane;
  doing.mark.kind = static_cast<uint32_t>(kind) & 3;
  doing.mark.element = doing.mark.whole = 7;
  return doing;
}

void Detector::access(uint32_t operation, AccessKind kind, mem::Allocation& allocation, uint64_t offset,
                      uint64_t bytes) {
  const auto found = operations_.find(operation);
  if (found == operations_.end()) return;
  Doing doing = doing_of(*found->second, kind);
  touch_range(doing, shadow_of(allocation), &allocation, allocation.bytes.get() + offset, offset, bytes);
}

}  // namespace fb::race
