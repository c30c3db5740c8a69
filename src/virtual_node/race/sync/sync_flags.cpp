#include "virtual_node/race/sync/sync_flags.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "virtual_node/race/agents/card_release.h"

namespace fb::race {
namespace {

// Whether this thread made the release. The write is not enough: a read-modify-write also carries the earlier releases
// of its release sequence.
bool is_of(const Release& release, BlockId block, uint16_t warp, uint32_t lane) {
  if (release.merged) return false;
  if (!release.has_release) return release.write.block == block && release.write.warp == warp && release.lane == lane;
  return release.clock.block == block && release.clock.warp == warp + 1 && release.clock.lanes == Mask{1} << lane;
}

// A release of a thread is carried on by its later relaxed writes to the same word.
ReleasesRef with_earlier(const WarpState& s, const ReleasesRef& own, const Releases& found) {
  const Release& last = own->front();
  const auto is_carried = [&](const Release& earlier) {
    // A later fence of the same thread with at least this scope releases all of it.
    const auto covers_it = [&](const Release& fence) {
      return fence.has_release && fence.release_scope >= earlier.release_scope &&
             fence.clock.lane_epoch >= earlier.clock.lane_epoch;
    };
    return earlier.has_release && earlier.lane == last.lane && earlier.clock.block == s.block->id &&
           earlier.clock.warp == s.index + 1 && earlier.clock.lanes == Mask{1} << last.lane &&
           std::ranges::none_of(*own, covers_it);
  };
  if (std::ranges::none_of(found, is_carried)) return own;
  auto all = std::make_shared<Releases>();
  if (last.has_release) *all = *own;
  for (const Release& earlier : found) {
    if (!is_carried(earlier)) continue;
    all->push_back(earlier);
    all->back().write = last.write;
    all->back().writer_clock = last.writer_clock;
  }
  return all;
}

uint32_t element_of(const simt::Access& access) { return access.element == 0 ? access.bytes : access.element; }

}  // namespace

void FlagSync::strong_access(WarpState& s, const simt::Access& access, const AccessContext& context) {
  if (access.kind != AccessKind::store && !s.traits[access.inst->origin].red) read_flags(s, access, context);
  if (access.kind != AccessKind::load) write_flags(s, access, context);
}

// Reads

void FlagSync::read_flags(WarpState& s, const simt::Access& access, const AccessContext& context) {
  const uint32_t element = element_of(access);
  // Lanes at the same address read together.
  for (Mask left = access.lanes; left != 0;) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    Mask same = 0;
    each_lane(left, [&](uint32_t l) { same |= Mask{access.addresses[l] == access.addresses[lane]} << l; });
    left &= ~same;
    memory_.each_range(s, access.addresses[lane], access.bytes, [&](const ShadowRange& range) {
      // Host stores to shared memory are not observed; a .sys acquire from it is assumed to synchronise with the host.
      if (range.allocation && range.allocation->shared && context.cell.reach() == Scope::sys)
        read_word_of_host(s, access, context, same, *range.allocation);
      Line& line = range.shadow->line(range.offset / kLineBytes);  // a vector does not cross lines
      const auto begin = static_cast<uint32_t>(range.offset % kLineBytes);
      for (uint32_t at = begin; at < begin + access.bytes; at += element)
        read_word_of_card(s, access, context, same, line, at, element);
      if (!line.extras) return;
      for (uint32_t at = begin; at < begin + access.bytes; at += element) {
        for (const Flag& flag : line.extras->flags.at(at, at + element)) {
          const bool is_found =
              access.kind == AccessKind::load && !flag.releases->empty() && flag.releases->front().write.of_card();
          if (!is_found) read_flag(s, access, context, same, line, flag, at, element);
        }
      }
    });
    if (acquires(access.order)) acquire_pending(s, same, context.cell.reach(), &access);
  }
}

void FlagSync::read_flag(WarpState& s, const simt::Access& access, const AccessContext& context, Mask lanes, Line& line,
                         const Flag& flag, uint32_t offset, uint32_t bytes) {
  // A lane that returned a stale value reads the releases of that value.
  const Releases& read = (context.stale & lanes) != 0 ? *flag.previous : *flag.releases;
  const bool same_size = flag.offset == offset && flag.bytes == bytes;
  PendingAcquire pending;
  pending.lanes = lanes;
  pending.flag_line = &line;
  pending.flag_offset = flag.offset;
  pending.site = context.cell.site;
  for (const Release& release : read) {
    const ShadowCell& write = release.write;
    if (std::has_single_bit(lanes) &&
        is_of(release, s.block->id, s.index, static_cast<uint32_t>(std::countr_zero(lanes))))
      continue;
    if (release.has_release && acquires(access.order) && s.has_acquired(release, lanes)) continue;
    SyncEdge edge;
    edge.write = write;
    edge.write_lane = release.lane;
    edge.released = release.has_release;
    edge.release_site = release.release_site;
    edge.release_scope = release.release_scope;
    edge.release = release.clock;
    edge.writer_clock = release.writer_clock;
    edge.writer_base = release.writer_base;
    edge.read = context.cell;
    edge.read_lanes = lanes;
    edge.acquire_scope = context.cell.reach();
    edge.relaxed_read = !acquires(access.order);
    if (!same_size && (options_.strict || write.whole != context.cell.whole)) {
      edge.missed = MissedSync::size;
    } else if (!state_.agents.in_scope(write.reach(), write.block, s.block->id)) {
      edge.missed = MissedSync::writer_scope;
    } else if (!state_.agents.in_scope(context.cell.reach(), s.block->id, write.block)) {
      edge.missed = MissedSync::reader_scope;
    } else {
      // The write has been seen, if nothing else.
      if (!release.has_release || !acquires(access.order)) {
        auto seen = std::make_shared<Clock>();
        seen->add(
            SeenWrite{&line, offset, write.block, static_cast<uint16_t>(write.warp + 1), release.lane, write.epoch});
        s.acquire(lanes, {nullptr, nullptr, std::move(seen)}, state_.joiner);
      }
      edge.missed = release.has_release ? MissedSync::not_acquired : MissedSync::not_released;
    }
    const uint64_t number = state_.log.note(edge);
    if (edge.missed != MissedSync::not_acquired) continue;
    pending.releases.push_back(release);
    pending.edges.push_back(number);
  }
  std::erase_if(s.pending, [&](const PendingAcquire& p) {
    return p.flag_line == pending.flag_line && p.flag_offset == pending.flag_offset && (p.lanes & ~lanes) == 0;
  });
  if (!pending.releases.empty()) s.pending.push_back(std::move(pending));
}

void FlagSync::read_word_of_card(WarpState& s, const simt::Access& access, const AccessContext& context, Mask lanes,
                                 Line& line, uint32_t offset, uint32_t bytes) {
  // An atomic has replaced the write by its own.
  if (access.kind != AccessKind::load) return;
  const ShadowCell& write = line.at(offset).write;
  if (!write.of_card()) return;
  Release release;
  if (!release_of_card(state_.agents, write, release)) return;
  Flag flag{static_cast<uint8_t>(offset), static_cast<uint8_t>(bytes), std::make_shared<const Releases>(1, release),
            std::make_shared<const Releases>()};
  if ((context.stale & lanes) != 0 && line.extras) {
    // Strong loads return nothing older than the value before the last.
    const auto replaced =
        std::ranges::find_if(line.extras->stale.rbegin(), line.extras->stale.rend(),
                             [&](const auto& v) { return v.begin <= offset && v.end >= offset + bytes; });
    if (replaced != line.extras->stale.rend() && replaced->releases) flag.previous = replaced->releases;
  }
  read_flag(s, access, context, lanes, line, flag, offset, bytes);
  if (release.clock.lane_epoch != 0 || (context.stale & lanes) != 0) return;
  // Of a larger message only this word has been seen.
  auto seen = std::make_shared<Clock>();
  seen->add(SeenWrite{&line, offset, release.write.block, static_cast<uint16_t>(release.write.warp + 1), release.lane,
                      release.write.epoch});
  s.acquire(lanes, {nullptr, nullptr, std::move(seen)}, state_.joiner);
}

void FlagSync::read_word_of_host(WarpState& s, const simt::Access& access, const AccessContext& context, Mask lanes,
                                 const mem::Allocation& memory) {
  const ClockRef clock = state_.hosts.of(state_.agents.operation_of(s.block->id).host);
  if (!clock) return;
  if (acquires(access.order)) return s.acquire(lanes, {clock, nullptr}, state_.joiner);
  // Until a fence. One of each allocation is enough: the host's clock only grows.
  std::erase_if(s.pending, [&](const PendingAcquire& p) { return p.flag_line == &memory && (p.lanes & ~lanes) == 0; });
  PendingAcquire& pending = s.pending.emplace_back();
  pending.lanes = lanes;
  pending.flag_line = &memory;
  pending.site = context.cell.site;
  Release& release = pending.releases.emplace_back();
  release.has_release = true;
  release.release_scope = Scope::sys;
  release.clock.clock.all = clock;
  pending.edges.push_back(0);
}

void FlagSync::acquire_pending(WarpState& s, Mask lanes, Scope scope, const simt::Access* load) {
  for (size_t k = 0; k < s.pending.size();) {
    PendingAcquire& p = s.pending[k];
    const Mask now = p.lanes & lanes;
    // An acquiring load acquires only the releases that it has read itself.
    if (now == 0 || (load && p.site != s.first_site + load->inst->origin)) {
      ++k;
      continue;
    }
    // Joined with each other first: the warps that read one counter join the same releases, which the joiner remembers.
    SyncClock acquired;
    for (size_t n = 0; n < p.releases.size();) {
      if (acquire_release(s, now, scope, p.releases[n], p.edges[n], acquired) && now == p.lanes) {
        p.releases.erase(p.releases.begin() + static_cast<std::ptrdiff_t>(n));
        p.edges.erase(p.edges.begin() + static_cast<std::ptrdiff_t>(n));
      } else {
        ++n;
      }
    }
    if (acquired.all) s.acquire(now, acquired, state_.joiner);
    if (p.releases.empty()) {
      s.pending.erase(s.pending.begin() + static_cast<std::ptrdiff_t>(k));
    } else {
      ++k;
    }
  }
}

// Adds what the lanes acquire of the release. False: the scopes of release and acquire do not include each other.
bool FlagSync::acquire_release(WarpState& s, Mask lanes, Scope scope, const Release& release, uint64_t edge,
                               SyncClock& acquired) {
  const ReleaseClock& clock = release.clock;
  const bool includes_reader = state_.agents.in_scope(release.release_scope, clock.block, s.block->id);
  const bool includes_writer = state_.agents.in_scope(scope, s.block->id, clock.block);
  if (SyncEdge* noted = state_.log.edge(edge)) {
    noted->acquire_scope = scope;
    noted->missed = !includes_reader   ? MissedSync::writer_scope
                    : !includes_writer ? MissedSync::reader_scope
                                       : MissedSync::none;
  }
  if (!includes_reader || !includes_writer) return false;
  acquired = state_.joiner.join(acquired, state_.joiner.released(clock));
  s.note_acquired(release, lanes);
  return true;
}

// Writes

void FlagSync::write_flags(WarpState& s, const simt::Access& access, const AccessContext& context) {
  const uint32_t element = element_of(access);
  each_lane(access.lanes, [&](uint32_t lane) {
    const ReleasesRef own = make_releases(s, access, context.cell, lane);
    memory_.each_range(s, access.addresses[lane], access.bytes, [&](const ShadowRange& range) {
      if (range.allocation && range.allocation->shared) release_to_host(s, context, *own);
      Flags& flags = range.shadow->line(range.offset / kLineBytes).extra().flags;
      const auto begin = static_cast<uint32_t>(range.offset % kLineBytes);
      for (uint32_t at = begin; at < begin + access.bytes; at += element)
        write_flag(s, access, context, own, flags.make(at, element));
    });
  });
  if (releases(access.order)) publish(s.observed);
  ++s.block->epoch;
}

// The write itself, with every release that it makes visible: its own, or those of fences before it.
ReleasesRef FlagSync::make_releases(WarpState& s, const simt::Access& access, const ShadowCell& cell, uint32_t lane) {
  Release plain;
  plain.write = cell;
  plain.write.lane = lane & 31;
  plain.write.spread = kOneLane;
  plain.lane = lane;
  plain.writer_clock = s.clock_of(Mask{1} << lane, state_.joiner).all;
  plain.writer_base = s.block->base;
  auto made = std::make_shared<Releases>();
  if (releases(access.order)) {
    Release& own = made->emplace_back(plain);
    own.has_release = true;
    own.clock = s.make_release(Mask{1} << lane, state_.joiner);
    own.release_scope = cell.reach();
    own.release_site = cell.site;
  } else {
    for (const FenceRecord& f : s.fences) {
      if ((f.lanes >> lane & 1) == 0) continue;
      Release& own = made->emplace_back(plain);
      own.has_release = true;
      own.clock = f.clock;
      own.clock.lanes = Mask{1} << lane;
      own.release_scope = f.scope;
      own.release_site = f.site;
    }
  }
  if (made->empty()) made->push_back(std::move(plain));
  return made;
}

// The host is assumed to acquire every .sys release to memory that it shares.
void FlagSync::release_to_host(const WarpState& s, const AccessContext& context, const Releases& releases) {
  for (const Release& release : releases) {
    const bool reaches_host = release.release_scope == Scope::sys && context.cell.reach() == Scope::sys;
    if (release.has_release && reaches_host)
      state_.hosts.acquire(state_.agents.operation_of(s.block->id).host, state_.joiner.flatten(release.clock));
  }
}

void FlagSync::write_flag(WarpState& s, const simt::Access& access, const AccessContext& context,
                          const ReleasesRef& own, Flag& flag) {
  const Agents& agents = state_.agents;
  const ReleasesRef found = flag.releases;
  if (options_.weak_lines != 0) flag.previous = found;
  flag.releases = releases(access.order) ? own : with_earlier(s, own, *found);
  if (access.kind != AccessKind::atomic || found->empty()) return;
  // A read-modify-write continues the release sequences of the writes with which it is morally strong. Left out: writes
  // without a release; earlier releases of this thread; and releases that this thread has acquired and now releases
  // itself, at a scope that reaches every reader of theirs.
  const Release& last = own->front();
  const auto is_carried = [&](const Release& release) {
    const ShadowCell& write = release.write;
    const bool same_thread = write.block == s.block->id && write.warp == s.index && release.lane == last.lane;
    const bool include_each_other = agents.in_scope(write.reach(), write.block, s.block->id) &&
                                    agents.in_scope(context.cell.reach(), s.block->id, write.block);
    if (!release.has_release || (!same_thread && !include_each_other)) return false;
    if (is_of(release, s.block->id, s.index, last.lane)) return false;
    return !releases(access.order) || context.cell.reach() < std::max(release.release_scope, Scope::gpu) ||
           agents.block(release.clock.block).device != agents.block(s.block->id).device ||
           !s.has_acquired(release, Mask{1} << last.lane);
  };
  auto all = std::make_shared<Releases>();
  for (const Release& release : *found) {
    if (!is_carried(release)) continue;
    all->push_back(release);
    // Readers synchronise with the sequence through this write.
    all->back().write = last.write;
    all->back().lane = last.lane;
  }
  if (all->empty()) return;
  all->insert(all->end(), flag.releases->begin(), flag.releases->end());
  shorten(*all);
  flag.releases = std::move(all);
}

// Counters that many threads increment: the older releases are merged into one for each scope and device.
void FlagSync::shorten(Releases& releases) {
  constexpr size_t kMost = 32, kKept = 16;
  if (releases.size() <= kMost) return;
  Releases kept(releases.end() - kKept, releases.end());
  releases.resize(releases.size() - kKept);
  for (Release& release : releases) {
    if (!release.has_release) continue;
    const auto like = std::ranges::find_if(kept, [&](const Release& k) {
      return k.merged && k.release_scope == release.release_scope &&
             state_.agents.block(k.write.block).device == state_.agents.block(release.write.block).device;
    });
    const SyncClock clock = state_.joiner.released(release.clock);
    if (like == kept.end()) {
      release.merged = true;
      release.clock.clock = clock;
      kept.push_back(release);
    } else {
      like->clock.clock = state_.joiner.join(like->clock.clock, clock);
    }
  }
  releases = std::move(kept);
}

}  // namespace fb::race
