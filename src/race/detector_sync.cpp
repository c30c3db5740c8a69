// Synchronisation: releases and acquires through flags, fences, barriers, completion of copies.

#include <algorithm>
#include <array>
#include <bit>

#include "race/detector.h"
#include "race/pieces.h"
#include "race/state.h"

namespace fb::race {
namespace {

Knowledge join(const Knowledge& a, const Knowledge& b) {
  return {race::join(a.all, b.all), race::join(a.proxied, b.proxied), race::join(a.seen, b.seen)};
}

// Whether this thread has given the signal. Its write does not tell: who updates the word hands on signals of others.
bool is_of(const Signal& signal, BlockId block, uint16_t warp, uint32_t lane) {
  if (signal.merged) return false;
  if (!signal.released) return signal.write.block == block && signal.write.warp == warp && signal.lane == lane;
  return signal.handed.block == block && signal.handed.warp == warp + 1 && signal.handed.lanes == Mask{1} << lane;
}

}  // namespace

namespace {

ClockRef put_together(const Handed& handed) {
  // Where hundreds of blocks hear of each other, who knows of one thread is taken to know of its block: a race that
  // only the threads of one block tell apart shows with fewer ranks and blocks as well.
  constexpr size_t kLarge = 256;
  auto own = std::make_shared<Clock>();
  const auto add = [&](uint16_t warp, Mask lanes, Tick tick) {
    if (tick != 0) own->add(handed.place, Entry{handed.block, warp, lanes, tick});
  };
  if (handed.known.all && handed.known.all->size() > kLarge) {
    add(kAllWarps, simt::kAllLanes, handed.of_lanes);
  } else {
    add(kAllWarps, simt::kAllLanes, handed.of_block);
    add(handed.warp, simt::kAllLanes, handed.of_warp);
    add(handed.warp, handed.lanes, handed.of_lanes);
  }
  return handed.known.all ? really_join(handed.known.all, std::move(own)) : own;
}

}  // namespace

// Many hear the same signal one after the other. Remembers what it was put together to, for the last ones that differ;
// holds on to their clocks, so that an address means what it meant.
ClockRef everything(const Handed& handed) {
  struct Heard {
    Handed handed;
    ClockRef all;
  };
  static std::array<Heard, 256> lately;
  uint64_t mixed = handed.of_lanes * 0x9e3779b97f4a7c15 ^ handed.block * 0xd6e8feb86659fd93;
  mixed = (mixed ^ (uint64_t{handed.warp} << 32 | handed.lanes)) * 0xbf58476d1ce4e5b9;
  Heard& place = lately[mixed >> 56];
  if (!place.all || place.handed != handed) place = {handed, put_together(handed)};
  return place.all;
}

// --- What lanes know

void Detector::learn(WarpState& s, Mask lanes, const Knowledge& what) {
  const auto has = [](const ClockRef& own, const ClockRef& other) { return !other || (own && own->covers(*other)); };
  const bool all_lanes = (s.live() & ~lanes) == 0;
  if (!all_lanes && has(s.known.all, what.all) && has(s.known.proxied, what.proxied) && has(s.known.seen, what.seen))
    return;
  learn_news(s, lanes, what);
}

// The same, where it is known that the warp does not know it yet.
void Detector::learn_news(WarpState& s, Mask lanes, const Knowledge& what) {
  if ((s.live() & ~lanes) == 0) {
    s.known = join(s.known, what);
    return;
  }
  for (LaneKnowledge& k : s.lanes) {
    if (k.lanes != lanes) continue;
    k.what = join(k.what, what);
    return;
  }
  s.lanes.push_back({lanes, what});
}

Knowledge Detector::knowledge_of(const WarpState& s, Mask lanes) const {
  Knowledge known = s.known;
  for (const LaneKnowledge& k : s.lanes) {
    if ((lanes & ~k.lanes) == 0) known = join(known, k.what);
  }
  return known;
}

Handed Detector::hand_over(WarpState& s, Mask lanes) {
  BlockState& block = *s.block;
  return {knowledge_of(s, lanes),
          block.place,
          block.id,
          static_cast<uint16_t>(s.index + 1),
          lanes,
          block.base,
          s.base,
          block.tick};
}

// All lanes know what all did, and what each has learnt.
void Detector::meet(WarpState& s) {
  for (const LaneKnowledge& k : s.lanes) s.known = join(s.known, k.what);
  s.lanes.clear();
  s.base = s.block->tick++;
}

// --- Flags

void Detector::strong_access(WarpState& s, const simt::Access& access, Doing& doing) {
  const SiteTraits traits = s.traits[access.inst->origin];
  const uint32_t element = access.element == 0 ? access.bytes : access.element;
  // What the host says through memory that it sees, nobody tells the checker: it is believed.
  if (access.kind != AccessKind::store && !traits.red) {
    // Lanes at the same place read together.
    for (Mask left = access.lanes; left != 0;) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      Mask same = 0;
      each_lane(left, [&](uint32_t l) { same |= Mask{access.addresses[l] == access.addresses[lane]} << l; });
      left &= ~same;
      each_piece(s, access.addresses[lane], access.bytes,
                 [&](Shadow& shadow, const mem::Allocation* allocation, std::byte*, uint64_t offset) {
                   if (allocation && allocation->shared && acquires(access.order) && doing.mark.reach() == Scope::sys)
                     learn(s, same, {host_of(agents_.operation_of(s.block->id).host), nullptr});
                   Line& line = shadow.line(offset / kLineBytes);  // a vector lies in one
                   if (!line.extras) return;
                   const auto begin = static_cast<uint32_t>(offset % kLineBytes);
                   for (uint32_t at = begin; at < begin + access.bytes; at += element) {
                     for (const Flag& flag : line.extras->flags.at(at, at + element))
                       strong_read(s, access, doing, same, line, flag, at, element);
                   }
                 });
      if (acquires(access.order)) acquire_heard(s, same, doing.mark.reach(), &access);
    }
  }
  if (access.kind == AccessKind::load) return;
  each_lane(access.lanes, [&](uint32_t lane) {
    const SignalsRef own = make_signals(s, access, doing.mark, lane);
    each_piece(s, access.addresses[lane], access.bytes,
               [&](Shadow& shadow, const mem::Allocation* allocation, std::byte*, uint64_t offset) {
                 if (allocation && allocation->shared) host_hears(s, doing, *own);
                 Flags& flags = shadow.line(offset / kLineBytes).extra().flags;
                 const auto begin = static_cast<uint32_t>(offset % kLineBytes);
                 for (uint32_t at = begin; at < begin + access.bytes; at += element)
                   strong_write(s, access, doing, own, flags.make(at, element));
               });
  });
  if (releases(access.order)) settle(s);
  ++s.block->tick;
}

void Detector::strong_read(WarpState& s, const simt::Access& access, const Doing& doing, Mask lanes, Line& line,
                           const Flag& flag, uint32_t offset, uint32_t bytes) {
  // A lane that was given older bytes hears what was said before.
  const Mask late = doing.late & lanes;
  const Signals& signals = late != 0 ? *flag.before : *flag.signals;
  const bool same_size = flag.offset == offset && flag.bytes == bytes;
  Heard heard;
  heard.lanes = lanes;
  heard.flag_line = &line;
  heard.flag_offset = flag.offset;
  heard.site = doing.mark.site;
  for (const Signal& signal : signals) {
    const Mark& write = signal.write;
    if (std::has_single_bit(lanes) &&
        is_of(signal, s.block->id, s.index, static_cast<uint32_t>(std::countr_zero(lanes))))
      continue;
    if (signal.released && acquires(access.order) && s.has_acquired(signal, lanes)) continue;
    Edge edge;
    edge.write = write;
    edge.write_lane = signal.lane;
    edge.released = signal.released;
    edge.release_site = signal.first_site;
    edge.release_scope = signal.first_scope;
    edge.handed = signal.handed;
    edge.knew = signal.knew;
    edge.read = doing.mark;
    edge.read_lanes = lanes;
    edge.acquire_scope = doing.mark.reach();
    if (!same_size && (options_.strict || write.whole != doing.mark.whole)) {
      edge.trouble = Trouble::size;
    } else if (!includes(write.reach(), write.block, s.block->id)) {
      edge.trouble = Trouble::writer_scope;
    } else if (!includes(doing.mark.reach(), s.block->id, write.block)) {
      edge.trouble = Trouble::reader_scope;
    } else {
      // The write has been seen, if nothing else.
      auto seen = std::make_shared<Clock>();
      seen->add(SeenWrite{&line, offset, write.block, static_cast<uint16_t>(write.warp + 1), signal.lane, write.tick});
      if (!signal.released || !acquires(access.order)) learn(s, lanes, {nullptr, nullptr, std::move(seen)});
      if (!signal.released) {
        edge.trouble = Trouble::not_released;
      } else {
        edge.trouble = Trouble::not_acquired;
        heard.signals.push_back(signal);
      }
    }
    heard.edges.push_back(note_edge(edge));
    if (edge.trouble != Trouble::not_acquired) heard.edges.pop_back();
  }
  std::erase_if(s.heard, [&](const Heard& h) {
    return h.flag_line == heard.flag_line && h.flag_offset == heard.flag_offset && (h.lanes & ~lanes) == 0;
  });
  if (!heard.signals.empty()) s.heard.push_back(std::move(heard));
}

// A fence, or a load that acquires: what these lanes have heard becomes what they know, where scopes allow it.
void Detector::acquire_heard(WarpState& s, Mask lanes, Scope scope, const simt::Access* load) {
  for (size_t k = 0; k < s.heard.size();) {
    Heard& h = s.heard[k];
    // An acquiring load makes an acquire of what was read from the same place only.
    bool of_load = !load;
    if (load) of_load = h.site == s.first_site + load->inst->origin && (h.lanes & lanes) != 0;
    const Mask now = h.lanes & lanes;
    if (now == 0 || !of_load) {
      ++k;
      continue;
    }
    for (size_t n = 0; n < h.signals.size();) {
      const Signal& signal = h.signals[n];
      const bool to_me = includes(signal.first_scope, signal.handed.block, s.block->id);
      const bool to_them = includes(scope, s.block->id, signal.handed.block);
      Edge* edge = edge_of(h.edges[n]);
      if (edge) {
        edge->acquire_scope = scope;
        edge->trouble = !to_me ? Trouble::writer_scope : !to_them ? Trouble::reader_scope : Trouble::none;
      }
      if (to_me && to_them) {
        const Handed& handed = signal.handed;
        const Knowledge what{everything(handed), handed.known.proxied, handed.known.seen};
        // Asking for the last thing that was done is cheap, and most of the time that is what is new.
        const bool old =
            s.known.all && s.known.all->covers(handed.place, handed.block, handed.warp, handed.lanes, handed.of_lanes);
        old ? learn(s, now, what) : learn_news(s, now, what);
        s.note_acquired(signal, now);
        if (now == h.lanes) {
          h.signals.erase(h.signals.begin() + static_cast<std::ptrdiff_t>(n));
          h.edges.erase(h.edges.begin() + static_cast<std::ptrdiff_t>(n));
          continue;
        }
      }
      ++n;
    }
    if (h.signals.empty()) {
      s.heard.erase(s.heard.begin() + static_cast<std::ptrdiff_t>(k));
    } else {
      ++k;
    }
  }
}

// What the host will see in memory that it shares.
void Detector::host_hears(const WarpState& s, const Doing& doing, const Signals& signals) {
  for (const Signal& signal : signals) {
    const bool reaches_host = signal.first_scope == Scope::sys && doing.mark.reach() == Scope::sys;
    if (signal.released && reaches_host) host_learns(agents_.operation_of(s.block->id).host, everything(signal.handed));
  }
}

void Detector::strong_write(WarpState& s, const simt::Access& access, const Doing& doing, const SignalsRef& own,
                            Flag& flag) {
  const SignalsRef found = flag.signals;
  if (options_.weak_lines != 0) flag.before = found;
  flag.signals = releases(access.order) ? own : with_earlier(s, own, *found);
  if (access.kind != AccessKind::atomic || found->empty()) return;
  // It hands on what it found, as far as it and the writer can hear each other. Of those that released nothing only the
  // last is of use: the one whose value is read. What this thread has just acquired, it hands on itself, to everybody
  // whom the signal would have reached; and of each thread one signal is enough.
  const Signal& last = own->front();
  const auto is_of_use = [&](const Signal& signal) {
    const Mark& write = signal.write;
    const bool same_thread = write.block == s.block->id && write.warp == s.index && signal.lane == last.lane;
    const bool hear_each_other =
        includes(write.reach(), write.block, s.block->id) && includes(doing.mark.reach(), s.block->id, write.block);
    if (!signal.released || (!same_thread && !hear_each_other)) return false;
    if (is_of(signal, s.block->id, s.index, last.lane)) return false;
    return !releases(access.order) || doing.mark.reach() < std::max(signal.first_scope, Scope::gpu) ||
           agents_.block(signal.handed.block).device != agents_.block(s.block->id).device ||
           !s.has_acquired(signal, Mask{1} << last.lane);
  };
  auto all = std::make_shared<Signals>();
  for (const Signal& signal : *found) {
    if (!is_of_use(signal)) continue;
    all->push_back(signal);
    // From here on the reader's partner is this write.
    all->back().write = last.write;
    all->back().lane = last.lane;
  }
  if (all->empty()) return;
  all->insert(all->end(), flag.signals->begin(), flag.signals->end());
  shorten(*all);
  flag.signals = std::move(all);
}

// Counters that many have raised: the older signals become one for each scope.
void Detector::shorten(Signals& signals) {
  constexpr size_t kMost = 32, kKept = 16;
  if (signals.size() <= kMost) return;
  Signals kept(signals.end() - kKept, signals.end());
  signals.resize(signals.size() - kKept);
  for (Signal& signal : signals) {
    if (!signal.released) continue;
    const auto like = std::ranges::find_if(kept, [&](const Signal& k) {
      return k.merged && k.first_scope == signal.first_scope &&
             agents_.block(k.write.block).device == agents_.block(signal.write.block).device;
    });
    const Knowledge known{everything(signal.handed), signal.handed.known.proxied, signal.handed.known.seen};
    if (like == kept.end()) {
      signal.merged = true;
      signal.handed.known = known;
      kept.push_back(signal);
    } else {
      like->handed.known = join(like->handed.known, known);
    }
  }
  signals = std::move(kept);
}

// The write itself, with every release that it makes visible: its own, or those of fences before it.
SignalsRef Detector::make_signals(WarpState& s, const simt::Access& access, const Mark& mark, uint32_t lane) {
  Signal plain;
  plain.write = mark;
  plain.write.lane = lane & 31;
  plain.write.spread = kOneLane;
  plain.lane = lane;
  plain.knew = knowledge_of(s, Mask{1} << lane).all;
  auto signals = std::make_shared<Signals>();
  if (releases(access.order)) {
    Signal& own = signals->emplace_back(plain);
    own.released = true;
    own.handed = hand_over(s, Mask{1} << lane);
    own.first_scope = mark.reach();
    own.first_site = mark.site;
  } else {
    for (const FenceMark& f : s.fences) {
      if ((f.lanes >> lane & 1) == 0) continue;
      Signal& own = signals->emplace_back(plain);
      own.released = true;
      own.handed = f.handed;
      own.handed.lanes = Mask{1} << lane;
      own.first_scope = f.scope;
      own.first_site = f.site;
    }
  }
  if (signals->empty()) signals->push_back(std::move(plain));
  return signals;
}

// A release of a thread goes on with its later writes to the same word.
SignalsRef Detector::with_earlier(const WarpState& s, const SignalsRef& own, const Signals& found) {
  const Signal& last = own->front();
  const auto goes_on = [&](const Signal& earlier) {
    // A later fence of the same thread that reaches as far hands on all of it.
    const auto says_it = [&](const Signal& fence) {
      return fence.released && fence.first_scope >= earlier.first_scope &&
             fence.handed.of_lanes >= earlier.handed.of_lanes;
    };
    return earlier.released && earlier.lane == last.lane && earlier.handed.block == s.block->id &&
           earlier.handed.warp == s.index + 1 && earlier.handed.lanes == Mask{1} << last.lane &&
           std::ranges::none_of(*own, says_it);
  };
  if (std::ranges::none_of(found, goes_on)) return own;
  auto all = std::make_shared<Signals>();
  if (last.released) *all = *own;
  for (const Signal& earlier : found) {
    if (!goes_on(earlier)) continue;
    all->push_back(earlier);
    all->back().write = last.write;
    all->back().knew = last.knew;
  }
  return all;
}

// --- Fences

void Detector::fence(WarpState& s, const simt::Sync& sync) {
  const Site site = s.first_site + sync.inst->origin;
  if (s.traits[sync.inst->origin].proxy_fence) return proxy_fence(s, sync.lanes);
  if (sync.order == MemoryOrder::weak) return;
  BlockState& block = *s.block;
  acquire_heard(s, sync.lanes, sync.scope, nullptr);
  if (host_of(agents_.operation_of(block.id).host) && sync.scope == Scope::sys)
    learn(s, sync.lanes, {host_of(agents_.operation_of(block.id).host), nullptr});
  if (sync.order == MemoryOrder::sc) {
    // Such fences are in one order, as far as they reach.
    const uint32_t device = agents_.block(block.id).device;
    learn(s, sync.lanes, block.sc);
    if (sync.scope >= Scope::gpu) learn(s, sync.lanes, sc_of_device_[device]);
    if (sync.scope == Scope::sys) learn(s, sync.lanes, sc_of_all_);
    const Handed handed = hand_over(s, sync.lanes);
    const Knowledge left{everything(handed), handed.known.proxied, handed.known.seen};
    block.sc = join(block.sc, left);
    if (sync.scope >= Scope::gpu) sc_of_device_[device] = join(sc_of_device_[device], left);
    if (sync.scope == Scope::sys) sc_of_all_ = join(sc_of_all_, left);
  }
  // The last fence of each scope counts. Lanes that know different things have fences of their own.
  for (FenceMark& f : s.fences) {
    if (f.scope == sync.scope) f.lanes &= ~sync.lanes;
  }
  std::erase_if(s.fences, [](const FenceMark& f) { return f.lanes == 0; });
  if (s.lanes.empty()) {
    s.fences.push_back({sync.lanes, sync.scope, site, hand_over(s, sync.lanes)});
  } else {
    each_lane(sync.lanes,
              [&](uint32_t l) { s.fences.push_back({Mask{1} << l, sync.scope, site, hand_over(s, Mask{1} << l)}); });
  }
  settle(s);
  ++block.tick;
}

// From here on the asynchronous proxy sees what these lanes know and have done.
void Detector::proxy_fence(WarpState& s, Mask lanes) {
  Handed handed = hand_over(s, lanes);
  const ClockRef all = everything(handed);
  learn(s, lanes, {nullptr, all});
  ++s.block->tick;
}

// --- Barriers

void Detector::on_sync(simt::Warp& w, const simt::Sync& sync) {
  WarpState& s = state_of(w);
  switch (sync.kind) {
    case simt::SyncKind::fence:
      return fence(s, sync);
    case simt::SyncKind::warp:
      return warp_barrier(s, sync);
    case simt::SyncKind::block_arrive:
      return block_arrive(s, sync);
    case simt::SyncKind::block_release:
      return block_release(s, sync);
    case simt::SyncKind::cluster_arrive:
    case simt::SyncKind::cluster_release:
      return cluster_barrier(s, sync);
    case simt::SyncKind::mbarrier_arrive:
    case simt::SyncKind::mbarrier_wait:
      return mbarrier(s, sync);
    case simt::SyncKind::async_commit:
    case simt::SyncKind::async_wait:
      return async_group(s, sync);
  }
}

void Detector::warp_barrier(WarpState& s, const simt::Sync& sync) {
  const Mask live = s.live();
  const Mask wanted = sync.id & live;
  s.met |= sync.lanes;
  if ((wanted & ~s.met) != 0) return;  // others are still to come
  s.met &= ~wanted;
  settle(s);
  if ((live & ~wanted) == 0) return meet(s);
  // Some lanes: they know what they did, and what each of them has learnt.
  Knowledge together;
  for (const LaneKnowledge& k : s.lanes) {
    if ((k.lanes & wanted) != 0) together = join(together, k.what);
  }
  auto own = std::make_shared<Clock>();
  own->add(s.block->place, Entry{s.block->id, static_cast<uint16_t>(s.index + 1), wanted, s.block->tick++});
  together.all = race::join(together.all, std::move(own));
  learn(s, wanted, together);
}

void Detector::block_arrive(WarpState& s, const simt::Sync& sync) {
  Meeting& barrier = s.block->barriers[sync.id];
  if (std::exchange(barrier.complete, false)) {
    barrier.known = barrier.last = {};
    barrier.own.clear();
  }
  settle(s);
  // Most warps of a block know the same.
  if (std::exchange(barrier.last, s.known) != s.known) barrier.known = join(barrier.known, s.known);
  for (const LaneKnowledge& k : s.lanes) {
    if ((k.lanes & sync.lanes) != 0) barrier.known = join(barrier.known, k.what);
  }
  barrier.own.push_back({s.block->id, static_cast<uint16_t>(s.index + 1), sync.lanes, s.block->tick});
}

void Detector::block_release(WarpState& s, const simt::Sync& sync) {
  BlockState& block = *s.block;
  Meeting& barrier = block.barriers[sync.id];
  if (!std::exchange(barrier.complete, true)) {
    // The first to be released: everybody who takes part has come.
    std::vector<Mask> came(block.warps.size());
    for (const Entry& e : barrier.own) came[e.warp - 1u] |= e.lanes;
    bool all = true;
    for (size_t k = 0; k < block.warps.size(); ++k) {
      // Who has exited without coming here is not ordered by it.
      if (block.warps[k]) all &= (block.warps[k]->warp->present() & ~came[k]) == 0;
    }
    if (all) {
      block.base = block.tick;
    } else {
      auto own = barrier.known.all ? std::make_shared<Clock>(*barrier.known.all) : std::make_shared<Clock>();
      for (const Entry& e : barrier.own) own->add(block.place, Entry{e.block, e.warp, e.lanes, block.tick});
      barrier.known.all = std::move(own);
    }
    ++block.tick;
  }
  if ((s.live() & ~sync.lanes) == 0) {
    s.known = barrier.known;  // all that its lanes knew is in there
    s.lanes.clear();
    s.base = std::max(s.base, block.tick - 1);
  } else {
    learn(s, sync.lanes, barrier.known);
  }
}

void Detector::cluster_barrier(WarpState& s, const simt::Sync& sync) {
  simt::Cluster& cluster = s.warp->block().barrier_cluster();
  auto& state = clusters_[&cluster];
  if (!state) state = std::make_unique<ClusterState>();
  if (sync.kind == simt::SyncKind::cluster_arrive) {
    Meeting& meeting = state->phases[cluster.phase & 1];
    if (meeting.phase != cluster.phase) meeting = {};
    meeting.phase = cluster.phase;
    if (!releases(sync.order)) return;
    settle(s);
    const Handed handed = hand_over(s, sync.lanes);
    meeting.known = join(meeting.known, {everything(handed), handed.known.proxied, handed.known.seen});
    ++s.block->tick;
  } else if (acquires(sync.order)) {
    // The phase that has just ended is the one before the cluster's.
    learn(s, sync.lanes, state->phases[(cluster.phase - 1) & 1].known);
  }
}

void Detector::mbarrier(WarpState& s, const simt::Sync& sync) {
  const uint32_t rank = sync.id >> mem::kClusterShift;
  simt::Block* owner = &s.warp->block();
  if (rank != 0 && owner->cluster && rank <= owner->cluster->blocks.size()) owner = owner->cluster->blocks[rank - 1];
  const auto found = blocks_.find(owner);
  if (found == blocks_.end()) return;
  const uint32_t offset = (sync.id & ((1u << mem::kClusterShift) - 1)) - mem::kSharedReserved;
  Meeting& meeting = found->second->mbarriers[offset];
  if (sync.kind == simt::SyncKind::mbarrier_arrive) {
    if (!releases(sync.order)) return;
    settle(s);
    const Handed handed = hand_over(s, sync.lanes);
    meeting.known = join(meeting.known, {everything(handed), handed.known.proxied, handed.known.seen});
    ++s.block->tick;
  } else if (acquires(sync.order)) {
    learn(s, sync.lanes, meeting.known);
  }
}

// --- Asynchronous copies

// A copy is its block's other self. It begins when it is issued, and only who waits for it knows that it has ended.
void Detector::async_access(WarpState& s, const simt::Access& access, Doing& doing) {
  BlockState& block = *s.block;
  doing.mark.block = block.id + (access.kind == AccessKind::load ? kAsyncReads : kAsyncWrites);
  doing.mark.tick = block.async_tick;
  doing.mark.spread = kOneLane;
  doing.mark.strong = 0;
  doing.mark.whole = doing.mark.element = 7;
  // cp.async goes through the generic proxy.
  doing.async = access.proxy == Proxy::async;
  each_lane(access.lanes, [&](uint32_t lane) {
    doing.mark.lane = lane & 31;
    doing.lanes = Mask{1} << lane;
    access_run(s, doing, access.addresses[lane], access.bytes);
  });
}

void Detector::on_copy_issue(const simt::AsyncCopy& copy) {
  const auto found = blocks_.find(copy.block);
  if (found == blocks_.end()) return;
  BlockState& block = *found->second;
  block.copies[copy.sequence] = {block.id, static_cast<uint16_t>(copy.warp->index() + 1), copy.lanes,
                                 block.async_tick++};
}

void Detector::on_copy_begin(const simt::AsyncCopy& copy) {
  completing_ = nullptr;
  const auto found = blocks_.find(copy.block);
  if (found == blocks_.end()) return;
  const auto issue = found->second->copies.find(copy.sequence);
  if (issue != found->second->copies.end()) completing_ = &issue->second;
}

void Detector::on_copy_end(const simt::AsyncCopy& copy) {
  completing_ = nullptr;
  const auto found = blocks_.find(copy.block);
  if (found != blocks_.end()) found->second->copies.erase(copy.sequence);
}

void Detector::on_mbarrier_signal(simt::Block& owner, const std::byte* at) {
  const auto found = blocks_.find(&owner);
  if (found == blocks_.end() || !completing_) return;
  const auto offset = static_cast<uint32_t>(at - owner.shared());
  auto clock = std::make_shared<Clock>();
  const Mask lanes = completing_->lanes == 0 ? simt::kAllLanes : completing_->lanes;
  for (const BlockId part : {kAsyncWrites, kAsyncReads})
    clock->add(agents_.block(completing_->block).place,
               Entry{completing_->block + part, completing_->warp, lanes, completing_->tick});
  Meeting& meeting = found->second->mbarriers[offset];
  const ClockRef done = std::move(clock);
  meeting.known = join(meeting.known, {done, done});
}

void Detector::async_group(WarpState& s, const simt::Sync& sync) {
  BlockState& block = *s.block;
  each_lane(sync.lanes, [&](uint32_t lane) {
    const uint32_t kind = sync.id & ~simt::kGroupsMask, newest = sync.id & simt::kGroupsMask;
    auto& commits = block.commits[kind | (s.index * simt::kLanes + lane)];
    if (sync.kind == simt::SyncKind::async_commit) {
      commits.push_back(block.async_tick);
      return;
    }
    if (commits.size() <= newest) return;
    const Tick done = commits[commits.size() - 1 - newest];
    const bool only_read = s.traits[sync.inst->origin].waits_for_reads;
    if (!only_read) commits.erase(commits.begin(), commits.end() - static_cast<std::ptrdiff_t>(newest));
    auto clock = std::make_shared<Clock>();
    clock->add(block.place,
               Entry{block.id + kAsyncReads, static_cast<uint16_t>(s.index + 1), Mask{1} << lane, done - 1});
    if (!only_read)
      clock->add(block.place,
                 Entry{block.id + kAsyncWrites, static_cast<uint16_t>(s.index + 1), Mask{1} << lane, done - 1});
    const ClockRef known = std::move(clock);
    learn(s, Mask{1} << lane, {known, known});
  });
}

// --- Streams

// A strong access of system scope, to a word of 4 or 8 bytes; the line in which it lies.
Line& Detector::touch_word(Doing& doing, mem::Allocation& allocation, uint64_t offset, uint32_t bytes) {
  doing.mark.strong = 1;
  doing.mark.scope = static_cast<uint32_t>(Scope::sys) & 7;
  doing.mark.element = doing.mark.whole = bytes == 8 ? 3 : 2;
  Shadow& shadow = shadow_of(allocation);
  touch_range(doing, shadow, &allocation, allocation.bytes.get() + offset, offset, bytes);
  return shadow.line(offset / kLineBytes);
}

void Detector::write_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes) {
  const auto found = operations_.find(operation);
  if (found == operations_.end()) return;
  OperationState& op = *found->second;
  Doing doing = doing_of(op, AccessKind::store);
  Line& line = touch_word(doing, allocation, offset, bytes);
  Signal signal;
  signal.write = doing.mark;
  signal.released = true;
  signal.first_scope = Scope::sys;
  signal.handed = {{op.knows, op.knows}, agents_.block(op.block).place, op.block, 1, 1, 0, 0, doing.mark.tick};
  Flag& flag = line.extra().flags.make(static_cast<uint32_t>(offset % kLineBytes), bytes);
  flag.before = std::make_shared<const Signals>();
  flag.signals = std::make_shared<const Signals>(1, signal);
}

void Detector::wait_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes) {
  const auto found = operations_.find(operation);
  if (found == operations_.end()) return;
  OperationState& op = *found->second;
  Doing doing = doing_of(op, AccessKind::load);
  Line& line = touch_word(doing, allocation, offset, bytes);
  if (allocation.shared) op.leaves = race::join(op.leaves, host_of(agents_.operation(op.number).host));
  if (!line.extras) return;
  const auto in_line = static_cast<uint32_t>(offset % kLineBytes);
  for (const Flag& flag : line.extras->flags.at(in_line, in_line + bytes)) {
    if (flag.offset != in_line || flag.bytes != bytes) continue;
    for (const Signal& signal : *flag.signals) {
      if (signal.released && includes(signal.first_scope, signal.write.block, op.block) &&
          includes(signal.write.reach(), signal.write.block, op.block))
        op.leaves = race::join(op.leaves, everything(signal.handed));
    }
  }
}

}  // namespace fb::race
