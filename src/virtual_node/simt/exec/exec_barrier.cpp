// Barriers of a block and of a warp, fences, waiting.
//
// Ordering first: the engine is one thread and performs every access when it is executed, so a fence has nothing to do
// but report to listeners, which judge orders and scopes. Barriers order threads: see Block::arrive.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_barrier.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

HWY_INLINE Mask lanes_with(Mask exec, const uint32_t* row, uint32_t value) {
  Mask equal = 0;
  for (uint32_t l = 0; l < kLanes; ++l) equal |= Mask{row[l] == value} << l;
  return equal & exec;
}

// bar, barrier

// The arrival of the executing lanes at the barrier of operand `id` with the count of operand `count`. Lanes that name
// another barrier or count than the first one come to the instruction again, by themselves.
Arrival arrival_of(Warp& w, const Inst& i, BarrierUse use, int id, int count) {
  const auto lane = std::countr_zero(w.exec);
  const auto* ids = w.src<uint32_t>(i.op[id]);
  Arrival arrival{.use = use, .id = ids[lane]};
  Mask same = lanes_with(w.exec, ids, arrival.id);
  if (i.op[count] != kAbsent) {
    const auto* counts = w.src<uint32_t>(i.op[count]);
    arrival.expected = counts[lane];
    same = lanes_with(same, counts, arrival.expected);
  }
  if (same != w.exec) {
    w.branch(i, w.exec & ~same, &i);
    w.exec = same;
  }
  arrival.lanes = same;
  return arrival;
}

// Behind a barrier. Its completion may have released lanes of this warp that stand at a smaller pc: they go first.
const Inst* go_on(Warp& w, const Inst& i) { return w.splits().size() == 1 ? &i + 1 : w.yield(i); }

const Inst* run_bar_sync(Warp& w, const Inst& i) {
  const Arrival arrival = arrival_of(w, i, BarrierUse::wait, 0, 1);
  w.note_barrier();
  if (w.block().arrive(w, i, arrival)) return go_on(w, i);
  return w.wait_behind(i, SplitState::barrier, arrival.id);
}

const Inst* run_bar_arrive(Warp& w, const Inst& i) {
  const Arrival arrival = arrival_of(w, i, BarrierUse::pass, 0, 1);
  w.note_barrier();
  if (w.block().arrive(w, i, arrival)) return go_on(w, i);
  return w.wait_behind(i, SplitState::barrier, kOwnWarpOnly + arrival.id);
}

// bar.red d, a{, b}, c: votes on arrival; the lanes wait here and run the instruction again to read the result.
// Write(w, i, votes, voters) gives it to w.exec.
template <class Write>
const Inst* run_bar_red(Warp& w, const Inst& i) {
  Arrival arrival = arrival_of(w, i, BarrierUse::vote, 1, 2);
  const auto read_result = [&](Mask lanes) {
    BarrierWarp& own = w.block().barrier(arrival.id).warps[w.index()];
    own.unread &= ~lanes;
    w.exec = lanes;
    Write::run(w, i, own.votes, own.voters);
  };
  // An id that does not exist is found by arrive().
  if (arrival.id < kOwnWarpOnly && !w.block().barrier(arrival.id).warps.empty()) {
    const Mask back = w.block().barrier(arrival.id).warps[w.index()].unread & arrival.lanes;
    if (back != 0) read_result(back);
    arrival.lanes &= ~back;
    if (arrival.lanes == 0) return go_on(w, i);
    w.exec = arrival.lanes;
  }
  arrival.votes = w.predicate(i, 3);
  w.note_barrier();
  if (!w.block().arrive(w, i, arrival)) return w.wait(i, SplitState::barrier, arrival.id);
  read_result(arrival.lanes);
  return go_on(w, i);
}

struct WriteCount {
  static void run(Warp& w, const Inst& i, uint32_t votes, uint32_t) {
    auto* d = w.row<uint32_t>(i.op[0]);
    each_lane(w.exec, [&](uint32_t l) { d[l] = votes; });
  }
};

struct WriteAll {
  static void run(Warp& w, const Inst& i, uint32_t votes, uint32_t voters) {
    w.set_predicate(i.op[0], votes == voters ? kAllLanes : 0);
  }
};

struct WriteAny {
  static void run(Warp& w, const Inst& i, uint32_t votes, uint32_t) {
    w.set_predicate(i.op[0], votes != 0 ? kAllLanes : 0);
  }
};

// bar.warp.sync

// Told to listeners: these lanes have come, `id` is the mask they gave.
void report_warp_sync(Warp& w, const Inst& i, Mask mask) {
  if (w.listener()) w.listener()->on_sync(w, {SyncKind::warp, MemoryOrder::acq_rel, Scope::cta, mask, w.exec, &i});
}

// Lanes may name several sets at once (tiles of a warp). A set that is complete needs nothing; of the others the first
// waits and the rest come again by themselves.
const Inst* run_bar_warp_sync(Warp& w, const Inst& i) {
  const auto* masks = w.src<uint32_t>(i.op[0]);
  Mask first = 0, wanted = 0, others = 0;
  const Mask here = w.exec;
  for (Mask left = here; left != 0;) {
    const Mask mask = masks[std::countr_zero(left)];
    const Mask set = lanes_with(left, masks, mask);
    const Mask members = mask & w.present() & ~w.exited();
    left &= ~set;
    if (set != members && first != 0) {
      others |= set;
      continue;
    }
    w.exec = set;
    report_warp_sync(w, i, mask);
    if (set == members) continue;
    first = set;
    wanted = mask;  // as written: lanes that come after an exit must find those that came before it
  }
  if (first == 0) return &i + 1;
  if (others != 0) w.branch(i, others, &i);
  w.exec = first;
  w.note_barrier();
  return w.gather_anywhere(i, wanted);
}

// Fences

const Inst* run_nothing(Warp&, const Inst& i) { return &i + 1; }

const Inst* run_observed_fence(Warp& w, const Inst& i) {
  if (w.listener()) w.listener()->on_sync(w, {SyncKind::fence, order_of(i), scope_of(i), 0, w.exec, &i});
  return &i + 1;
}

Exec choose_fence(const Selection& s) { return s.observed ? &run_observed_fence : &run_nothing; }

}  // namespace

FB_EXEC(bar_sync) { return &run_bar_sync; }
FB_EXEC(bar_arrive) { return &run_bar_arrive; }
FB_EXEC(bar_red_popc) { return &run_bar_red<WriteCount>; }
FB_EXEC(bar_red_pred) { return s.inst.has(ptx::Mod::and_) ? &run_bar_red<WriteAll> : &run_bar_red<WriteAny>; }
FB_EXEC(bar_warp_sync) { return &run_bar_warp_sync; }
FB_EXEC(membar) { return choose_fence(s); }
FB_EXEC(fence) { return choose_fence(s); }

// Between aliases of one physical byte; the engine keeps a byte only once.
FB_EXEC(fence_proxy_alias) { return &run_nothing; }

// PTX promises a sleep of between zero and twice the time given: letting others run is enough.
FB_EXEC(nanosleep) {
  return [](Warp& w, const Inst& i) { return w.yield(i); };
}

// Grids of a stream run one after the other here: whatever a dependent grid waits for has happened before it starts,
// and PTX allows launch_dependents to have no effect.
FB_EXEC(griddepcontrol_wait) { return &run_nothing; }

FB_EXEC(griddepcontrol_launch_dependents) { return &run_nothing; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
