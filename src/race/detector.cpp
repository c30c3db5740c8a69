#include "race/detector.h"

#include <bit>
#include <utility>

#include "race/access_runs.h"

namespace fb::race {

Detector::Detector(const Options& options, LocateFn locate, ReportFn report)
    : options_(options),
      order_(state_.agents, options_.strict),
      memory_(state_.live),
      names_(state_.agents, std::move(locate)),
      old_reads_(names_),
      stale_(options_, order_, old_reads_),
      history_(options_, names_),
      reporter_(state_, order_, names_, std::move(report)),
      unwritten_(state_.agents, names_),
      check_(options_, order_, stale_, reporter_, history_, unwritten_),
      flags_(options_, state_, memory_),
      fences_(state_, flags_),
      barriers_(state_),
      copies_(state_, memory_, check_),
      streams_(state_, memory_, check_, fences_) {}

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

void Detector::on_access(simt::Warp& w, const simt::Access& access) {
  const mem::Address first = access.addresses[std::countr_zero(access.lanes)];
  if (!mem::is_global(first) && !mem::is_shared(first)) return;
  WarpState& s = state_.live.warp(w);
  AccessContext context = context_of(s, access);
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
    memory_.each_range(s, run.address, run.bytes,
                       [&](const ShadowRange& range) { check_.apply(context, range, run.bytes); });
  });
  context.lanes = access.lanes;
  if (!ascending && access.kind == AccessKind::store) check_.check_overlapping_lanes(context, access, memory_);
  if (strong) flags_.strong_access(s, access, context);
  if (context.stale != 0) stale_.deliver(w, context.stale);
}

void Detector::on_sync(simt::Warp& w, const simt::Sync& sync) {
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
