#include "virtual_node/race/detector.h"

#include <bit>
#include <cstring>
#include <utility>

#include "virtual_node/race/shadow/access_runs.h"

namespace fb::race {
namespace {

// Whether the lanes of a run store what is there already.
bool stores_the_same(const simt::Access& access, const AccessRun& run, const std::byte* contents) {
  const uint32_t element = access.element == 0 ? access.bytes : access.element;
  for (uint32_t n = 0; n < access.bytes / element; ++n) {
    const auto* row = static_cast<const std::byte*>(access.values[n]);
    for (Mask m = run.lanes; m != 0; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(m));
      const std::byte* at = contents + uint64_t{lane - run.lane} * access.bytes + uint64_t{n} * element;
      if (std::memcmp(at, row + uint64_t{lane} * element, element) != 0) return false;
    }
  }
  return true;
}

// Whether an earlier lane stores the same bytes at the address of this one.
bool repeats_a_lane(const simt::Access& access, uint32_t lane) {
  for (uint32_t earlier = lane; earlier-- > 0;) {
    if ((access.lanes >> earlier & 1) != 0 && access.addresses[earlier] == access.addresses[lane])
      return store_the_same(access, earlier, lane);
  }
  return false;
}

// A word that one thread, or a thread for each peer, stores: it may be a flag.
bool may_be_flag(const simt::Access& access) {
  constexpr int kMostPeers = 16;
  return access.kind == AccessKind::store && access.element == 0 && access.bytes >= 4 && access.bytes <= 8 &&
         access.order == MemoryOrder::weak && std::popcount(access.lanes) <= kMostPeers;
}

}  // namespace

Detector::Detector(const Options& options, LocateFn locate, ReportFn report)
    : options_(options),
      order_(state_.agents, options_.strict),
      memory_(state_.live),
      names_(state_.agents, std::move(locate), options_.sanitizer),
      old_reads_(names_),
      stale_(options_, order_, old_reads_),
      history_(options_, names_),
      reporter_(options_, state_, order_, names_, std::move(report)),
      unwritten_(state_.agents, names_),
      check_(options_, order_, stale_, reporter_, history_, unwritten_),
      flags_(options_, state_, memory_),
      fences_(state_, flags_),
      barriers_(state_),
      copies_(state_, memory_, check_, looked_at_),
      streams_(state_, memory_, check_, fences_, looked_at_),
      cards_(state_, memory_, check_, looked_at_),
      hosts_(state_, memory_, check_, looked_at_) {}

AccessContext Detector::context_of(WarpState& s, const simt::Access& access) const {
  AccessContext context;
  context.warp = &s;
  context.block = s.block;
  context.operation = s.block->operation;
  context.lanes = access.lanes;
  context.lane_bytes = access.bytes;
  ShadowCell& cell = context.cell;
  const bool strong = access.kind == AccessKind::atomic || is_strong(access.order);
  cell.block = s.block->id;
  cell.epoch = s.block->epoch;
  cell.site = s.first_site + access.inst->origin;
  cell.warp = s.index & 63;
  cell.kind = static_cast<uint32_t>(access.kind) & 3;
  cell.strong = strong;
  cell.scope = static_cast<uint32_t>(access.scope == Scope::none && strong ? Scope::gpu : access.scope) & 7;
  cell.proxy = static_cast<uint32_t>(access.proxy) & 3;
  cell.whole = log2_of(access.bytes) & 7;
  cell.element = log2_of(access.element == 0 ? access.bytes : access.element) & 7;
  return context;
}

// Weak accesses to shared memory that is not looked at, found before anything is computed of them. Blocks of a cluster
// may access each other's.
bool Detector::is_left_out(simt::Warp& w, const simt::Access& access, mem::Address first) const {
  return !w.block().shared_observed && mem::is_shared(first) && !w.block().cluster && !options_.allow_volatile &&
         access.kind != AccessKind::atomic && !is_strong(access.order);
}

// Older bytes and unwritten ones are known only where every write is recorded.
void Detector::thin_out() {
  constexpr uint32_t kOnePieceIn = 16;
  is_thinned_out_ = true;
  looked_at_.thin_out(kOnePieceIn);
  stale_.turn(false);
  unwritten_.stop();
}

void Detector::on_access(simt::Warp& w, const simt::Access& access) {
  if (looked_at_.everywhere() && check_.work() + state_.joiner.work() > options_.most_work) thin_out();
  if (!options_.allow_volatile || access.order != MemoryOrder::volatile_) return check_access(w, access, false);
  simt::Access as_meant = access;
  as_meant.order = access.kind == AccessKind::load ? MemoryOrder::acquire : MemoryOrder::release;
  check_access(w, as_meant, true);
}

void Detector::check_access(simt::Warp& w, const simt::Access& access, bool is_volatile) {
  const mem::Address first = access.addresses[std::countr_zero(access.lanes)];
  if (!mem::is_global(first) && !mem::is_shared(first)) return;
  WarpState& s = state_.live.warp(w);
  if (is_left_out(w, access, first)) return;
  check_.count(std::popcount(access.lanes));
  AccessContext context = context_of(s, access);
  context.cell.is_volatile = is_volatile;
  const bool strong = context.cell.strong;
  if (access.proxy == Proxy::async || s.traits[access.inst->origin].asynchronous) {
    if (!releases(access.order)) return copies_.access(s, access, context);
    // st.async.release and red.async.release: what reads the value synchronises with the thread that sent it.
    context.cell.proxy = static_cast<uint32_t>(Proxy::generic) & 3;
  }
  context.may_be_stale = access.kind == AccessKind::load && stale_.enabled() && mem::is_global(first);
  const bool ascending = each_run(access, [&](const AccessRun& run) {
    context.cell.lane = run.lane & 31;
    context.cell.spread = run.spread & 7;
    context.lanes = run.spread == kEveryLane ? run.lanes : access.lanes;
    memory_.each_range(s, run.address, run.bytes, [&](const ShadowRange& range) {
      if (!strong && !(range.allocation ? looked_at_.at(range.offset) : range.observed)) return;
      if (options_.sanitizer && access.values && range.contents) {
        context.cell.same = stores_the_same(access, run, range.contents);
        context.same_as_lane = run.spread == kOneLane && repeats_a_lane(access, run.lane);
      }
      check_.apply(context, range, run.bytes);
    });
  });
  context.lanes = access.lanes;
  context.same_as_lane = false;
  if (!ascending && access.kind == AccessKind::store) check_.check_overlapping_lanes(context, access, memory_);
  if (strong) {
    flags_.strong_access(s, access, context);
  } else if (options_.allow_volatile && may_be_flag(access)) {
    simt::Access as_meant = access;
    as_meant.order = MemoryOrder::release;
    context.cell.scope = static_cast<uint32_t>(Scope::sys) & 7;
    flags_.strong_access(s, as_meant, context);
  }
  if (context.stale != 0) stale_.deliver(w, context.stale);
}

void Detector::on_sync(simt::Warp& w, const simt::Sync& sync) {
  if (sync.lanes == 0) return;  // a look at an mbarrier that waits for nothing yet
  WarpState& s = state_.live.warp(w);
  switch (sync.kind) {
    case simt::SyncKind::fence:
      return fences_.fence(s, sync);
    case simt::SyncKind::warp:
      return barriers_.warp_barrier(s, sync);
    case simt::SyncKind::block_arrive:
      return barriers_.block_arrive(s, sync);
    case simt::SyncKind::block_release:
      return barriers_.block_release(s, sync);
    case simt::SyncKind::cluster_arrive:
    case simt::SyncKind::cluster_release:
      return barriers_.cluster_barrier(s, sync);
    case simt::SyncKind::mbarrier_arrive:
    case simt::SyncKind::mbarrier_wait:
      return barriers_.mbarrier(s, sync);
    case simt::SyncKind::async_commit:
    case simt::SyncKind::async_wait:
      return copies_.group(s, sync);
  }
}

}  // namespace fb::race
