// Clusters: their barrier, their shared memory, and the fences of the asynchronous proxies.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_cluster.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

// barrier.cluster

namespace {

void report_cluster(Warp& w, const Inst& i, SyncKind kind, Mask lanes) {
  if (!w.listener() || lanes == 0) return;
  w.listener()->on_sync(w, {kind, order_of(i), Scope::cluster, 0, lanes, &i});
}

}  // namespace

FB_EXEC(barrier_cluster_arrive) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    report_cluster(w, i, SyncKind::cluster_arrive, w.exec);
    w.note_barrier();
    w.block().barrier_cluster().arrive(w, i, w.exec);
    return &i + 1;
  };
}

FB_EXEC(barrier_cluster_wait) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    const Mask through = w.block().barrier_cluster().pass(w, i, w.exec);
    report_cluster(w, i, SyncKind::cluster_release, through);
    w.note_barrier();
    if (through == w.exec) return &i + 1;
    // Lanes that are through may be the ones the others wait for in the next phase: they must not be held up.
    w.exec &= ~through;
    return w.wait(i, SplitState::cluster_barrier);
  };
}

// Fences

namespace {

// Every access is performed when it is executed and every copy reads its source when it is performed, so that fences
// change nothing here. Listeners judge whether one is missing.
const Inst* tell_fence(Warp& w, const Inst& i) {
  if (w.listener()) w.listener()->on_sync(w, {SyncKind::fence, order_of(i), scope_of(i), 0, w.exec, &i});
  return &i + 1;
}

}  // namespace

FB_EXEC(fence_restrict) { return &tell_fence; }
FB_EXEC(fence_mbarrier_init) { return &tell_fence; }
FB_EXEC(fence_proxy_async) { return &tell_fence; }
FB_EXEC(fence_proxy_async_generic) { return &tell_fence; }
FB_EXEC(fence_proxy_tensormap_acquire) { return &tell_fence; }
FB_EXEC(fence_proxy_tensormap_release) { return &tell_fence; }

// Distributed shared memory

namespace {

// What generic addresses add to those of the shared window.
template <bool kGeneric>
inline constexpr uint64_t kWindowBase = kGeneric ? mem::kSharedWindow : 0;

// An address that names block `rank`'s shared memory at the offset that `a` has in its own. A rank that does not exist
// gives an address that faults when it is used: compilers compute addresses early.
template <class T, bool kGeneric>
T map_to_rank(T a, uint32_t rank) {
  const uint64_t window = static_cast<uint64_t>(a) - kWindowBase<kGeneric>;
  if (window >= mem::kWindowSize) return 0;
  constexpr uint64_t kLargestSlot = (mem::kWindowSize >> mem::kClusterShift) - 1;
  const uint64_t slot = rank >= kLargestSlot ? kLargestSlot : rank + 1;
  const uint64_t offset = window & ((1u << mem::kClusterShift) - 1);
  return static_cast<T>(kWindowBase<kGeneric> + (slot << mem::kClusterShift | offset));
}

}  // namespace

FB_EXEC(mapa) {
  const bool generic = s.inst.spaces.empty();
  if (s.inst.type() == ptx::Type::u32) {
    // A generic address has 64 bits here.
    if (generic) return nullptr;
    return lanes<uint32_t, uint32_t, uint32_t>(
        [](uint32_t a, uint32_t rank) { return map_to_rank<uint32_t, false>(a, rank); });
  }
  if (generic) {
    return lanes<uint64_t, uint64_t, uint32_t>(
        [](uint64_t a, uint32_t rank) { return map_to_rank<uint64_t, true>(a, rank); });
  }
  return lanes<uint64_t, uint64_t, uint32_t>(
      [](uint64_t a, uint32_t rank) { return map_to_rank<uint64_t, false>(a, rank); });
}

namespace {

// The rank of the block whose shared memory an address means.
template <class T, bool kGeneric>
const Inst* rank_of_address(Warp& w, const Inst& i) {
  const uint32_t own = w.block().rank_in_cluster;
  const auto rank = [&](T a) {
    const auto slot = static_cast<uint32_t>((static_cast<uint64_t>(a) - kWindowBase<kGeneric>) >> mem::kClusterShift);
    return slot == 0 ? own : slot - 1;
  };
  map_lanes<uint32_t>(w.exec, w.row<uint32_t>(i.op[0]), rank, w.src<T>(i.op[1]));
  return &i + 1;
}

}  // namespace

FB_EXEC(getctarank) {
  const bool generic = s.inst.spaces.empty();
  if (s.inst.type() == ptx::Type::u32) return generic ? nullptr : &rank_of_address<uint32_t, false>;
  return generic ? &rank_of_address<uint64_t, true> : &rank_of_address<uint64_t, false>;
}

// Hints

namespace {

// Registers are not shared out between warps here.
const Inst* accept(Warp&, const Inst& i) { return &i + 1; }

}  // namespace

FB_EXEC(setmaxnreg_inc) { return &accept; }
FB_EXEC(setmaxnreg_dec) { return &accept; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
