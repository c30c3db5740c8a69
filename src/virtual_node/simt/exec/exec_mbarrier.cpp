// mbarrier: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". The states are in mbarrier.h.
// Lanes act one after the other, lowest first.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_mbarrier.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/async/mbarrier_memory.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/exec/lanes.h"
#include "virtual_node/simt/shared_ref.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

template <SharedAddress kAddress>
SharedRef mbarrier_at(Warp& w, const Inst& i, int k, uint32_t lane) {
  return resolve_shared(w, i, kAddress, lane, first_address(w, i, k, lane), sizeof(uint64_t), alignof(uint64_t));
}

// Lanes that do the same at the same mbarrier, in the same phase, are one event for the listener: clocks with an entry
// for each lane are slow.
class LaneEvents {
 public:
  LaneEvents(Warp& w, const Inst& i, SyncKind kind) : w_(w), i_(i), kind_(kind) {}

  void add(uint32_t lane, const SharedRef& at) {
    if (!w_.listener()) return;
    if (at.cluster_address() != at_) tell();
    at_ = at.cluster_address();
    lanes_ |= Mask{1} << lane;
  }
  void tell() {
    if (lanes_ == 0) return;
    w_.listener()->on_sync(w_, {kind_, order_of(i_), scope_of(i_), at_, lanes_, &i_});
    lanes_ = 0;
  }

 private:
  Warp& w_;
  const Inst& i_;
  const SyncKind kind_;
  uint32_t at_ = 0;
  Mask lanes_ = 0;
};

}  // namespace

FB_EXEC(mbarrier_init) {
  return by_shared_address(s.inst, []<SharedAddress kAddress>() -> Exec {
    return [](Warp& w, const Inst& i) -> const Inst* {
      each_lane(w.exec, [&](uint32_t lane) {
        const SharedRef at = mbarrier_at<kAddress>(w, i, 0, lane);
        const uint32_t count = w.src<uint32_t>(i.op[1])[lane];
        if (count == 0 || count > kMbarrierMaxCount) {
          mbarrier_trap(*at.owner, at.host, i, lane, "its count must be 1 to 2^20 - 1");
        }
        store_mbarrier(*at.owner, at.host, encode(Mbarrier{false, count, count, 0}));
      });
      w.note_effect();
      return &i + 1;
    };
  });
}

FB_EXEC(mbarrier_inval) {
  return by_shared_address(s.inst, []<SharedAddress kAddress>() -> Exec {
    return [](Warp& w, const Inst& i) -> const Inst* {
      each_lane(w.exec, [&](uint32_t lane) {
        const SharedRef at = mbarrier_at<kAddress>(w, i, 0, lane);
        load_mbarrier(*at.owner, at.host, i, lane);
        store_mbarrier(*at.owner, at.host, 0);
      });
      w.note_effect();
      return &i + 1;
    };
  });
}

namespace {

// expect_tx, complete_tx: kChange is mbarrier.h's function.
template <auto kChange>
Exec select_change(const Selection& s) {
  return by_shared_address(s.inst, []<SharedAddress kAddress>() -> Exec {
    return [](Warp& w, const Inst& i) -> const Inst* {
      const auto* count = w.src<uint32_t>(i.op[1]);
      each_lane(w.exec, [&](uint32_t lane) {
        const SharedRef at = mbarrier_at<kAddress>(w, i, 0, lane);
        update_mbarrier(*at.owner, at.host, i, lane, [&](Mbarrier& b) { return kChange(b, count[lane]); });
      });
      w.note_effect();
      return &i + 1;
    };
  });
}

}  // namespace

FB_EXEC(mbarrier_expect_tx) { return select_change<&expect_tx>(s); }
FB_EXEC(mbarrier_complete_tx) { return select_change<&complete_tx>(s); }

namespace {

// The arrivals `state, [a]{, count}`. Remote ones have no state to return: PTX wants the sink _ there.
template <auto kArrive>
Exec select_arrive(const Selection& s) {
  return by_shared_address(s.inst, []<SharedAddress kAddress>() -> Exec {
    return [](Warp& w, const Inst& i) -> const Inst* {
      auto* state = w.row<uint64_t>(i.op[0]);
      LaneEvents arrivals(w, i, SyncKind::mbarrier_arrive);
      each_lane(w.exec, [&](uint32_t lane) {
        const SharedRef at = mbarrier_at<kAddress>(w, i, 1, lane);
        const uint32_t count = i.op[2] == kAbsent ? 1 : w.src<uint32_t>(i.op[2])[lane];
        const std::byte phase = *phase_byte(at.host);
        state[lane] = update_mbarrier(*at.owner, at.host, i, lane, [&](Mbarrier& b) { return kArrive(b, count); });
        arrivals.add(lane, at);
        if (*phase_byte(at.host) != phase) arrivals.tell();  // the lanes behind arrive for the next phase
      });
      arrivals.tell();
      w.note_effect();
      return &i + 1;
    };
  });
}

// expect_tx and then one arrival, as one step.
template <bool kDrop>
MbarrierResult expect_and_arrive(Mbarrier& b, uint32_t bytes) {
  const MbarrierResult expected = expect_tx(b, bytes);
  return expected.problem.empty() ? arrive(b, 1, kDrop) : expected;
}

template <bool kDrop>
MbarrierResult arrive_completing(Mbarrier& b, uint32_t count) {
  return arrive(b, count, kDrop);
}

template <bool kDrop>
MbarrierResult arrive_promising(Mbarrier& b, uint32_t count) {
  return arrive_no_complete(b, count, kDrop);
}

}  // namespace

FB_EXEC(mbarrier_arrive) { return select_arrive<&arrive_completing<false>>(s); }
FB_EXEC(mbarrier_arrive_expect_tx) { return select_arrive<&expect_and_arrive<false>>(s); }
FB_EXEC(mbarrier_arrive_no_complete) { return select_arrive<&arrive_promising<false>>(s); }
FB_EXEC(mbarrier_arrive_drop) { return select_arrive<&arrive_completing<true>>(s); }
FB_EXEC(mbarrier_arrive_drop_expect_tx) { return select_arrive<&expect_and_arrive<true>>(s); }
FB_EXEC(mbarrier_arrive_drop_no_complete) { return select_arrive<&arrive_promising<true>>(s); }

namespace {

// A wait only looks: hardware may suspend the thread for a while in try_wait, here the loop around it falls asleep.
// kEnded(word, operand) is mbarrier.h's function; T the operand's type.
template <class T, auto kEnded>
Exec select_wait(const Selection& s) {
  return by_shared_address(s.inst, []<SharedAddress kAddress>() -> Exec {
    return [](Warp& w, const Inst& i) -> const Inst* {
      const auto* awaited = w.src<T>(i.op[2]);
      Mask ended = 0;
      LaneEvents waits(w, i, SyncKind::mbarrier_wait);
      each_lane(w.exec, [&](uint32_t lane) {
        const SharedRef at = mbarrier_at<kAddress>(w, i, 1, lane);
        if (at.owner != &w.block()) mbarrier_trap(*at.owner, at.host, i, lane, "only its own block may wait for it");
        const uint64_t word = load_mbarrier(*at.owner, at.host, i, lane);
        if (w.recording) w.note_read(phase_byte(at.host), mem::kSharedWindow + at.offset, 1, i);
        if (!kEnded(word, awaited[lane])) return;
        ended |= Mask{1} << lane;
        waits.add(lane, at);
      });
      waits.tell();
      // No lanes: the warp will look again. What it waits for may be earlier than its clock.
      if (ended != w.exec && w.listener())
        w.listener()->on_sync(w, {SyncKind::mbarrier_wait, order_of(i), scope_of(i), 0, 0, &i});
      w.set_predicate(i.op[0], ended);
      return &i + 1;
    };
  });
}

}  // namespace

FB_EXEC(mbarrier_test_wait) { return select_wait<uint64_t, &phase_ended>(s); }
FB_EXEC(mbarrier_test_wait_parity) { return select_wait<uint32_t, &parity_ended>(s); }
FB_EXEC(mbarrier_try_wait) { return select_wait<uint64_t, &phase_ended>(s); }
FB_EXEC(mbarrier_try_wait_parity) { return select_wait<uint32_t, &parity_ended>(s); }

FB_EXEC(mbarrier_pending_count) {
  return lanes<uint32_t, uint64_t>([](uint64_t state) { return pending_count(state); });
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
