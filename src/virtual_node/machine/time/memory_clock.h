#pragma once

// Charges a warp's accesses to its clock, by asking the fabric how long they take.
//
// What is promised about order: memory changes when an instruction is executed, but the change takes effect at the time
// at which it arrives at the memory's owner. A warp that reads a flag written by a strong store or an atomic operation
// continues no earlier than that arrival plus the latency back, regardless of its own clock.
//
// Within a warp: weak loads overlap until an instruction uses their results (virtual_node/simt/timing.h); strong loads
// and atomic operations with a result are waited for at once; stores are never waited for, except by fences and
// releases. What a load takes depends on the cache that has its bytes (time/caches.h). The time to issue and to compute
// is in the program's spans; here warps that share a multiprocessor wait for its units (time/multiprocessor.h).
//
// At the end of a warp clock.stores may be later than clock.now: its stores are still in flight, and a kernel has ended
// only when they have arrived.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_node/fabric/fabric.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/engine/line_stamps.h"
#include "virtual_node/machine/engine/write_history.h"
#include "virtual_node/machine/time/caches.h"
#include "virtual_node/machine/time/multiprocessor.h"
#include "virtual_node/machine/time/profile.h"
#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {

class MemoryClock final : public simt::Listener, public TimeKeeper {
 public:
  explicit MemoryClock(fabric::Fabric& fabric);

  // Also records writes and strong loads in `history`.
  void keep_history(WriteHistory* history) { history_ = history; }

  // When the access reported last has its effect: at the owner of the bytes for stores and atomic operations, at the
  // warp for loads. Of an asynchronous copy: when its last byte has arrived.
  Time last_arrival() const override { return last_arrival_; }
  Time arrival_of(const simt::AsyncCopy& copy) override;
  void order_by_time(bool by_time) override { by_time_ = by_time; }
  void account(simt::Warp& w) override;
  // Also books where time goes.
  void profile(const DeviceLimits& limits);
  // Of what was booked; empty unless profile() was called.
  record::Profile profiled() const { return profiler_ ? profiler_->profile() : record::Profile(); }
  // Also counts synchronisation steps in `steps`.
  void count_steps(SyncSteps& steps) {
    steps.attach();
    steps_ = &steps;
  }

  void on_access(simt::Warp& w, const simt::Access& access) override;
  void on_sync(simt::Warp& w, const simt::Sync& sync) override;
  void on_warp_exit(simt::Warp& w) override;
  void on_warp_start(simt::Warp& w) override;
  void on_units(simt::Warp& w) override;
  void on_release(simt::Warp& w, const simt::Inst& write) override;
  void on_span(simt::Warp& w, const simt::Span& s) override { profiler_->span(w, s); }
  void on_bank_conflict(simt::Warp& w, const simt::Inst& i, uint64_t extra) override {
    profiler_->extra(w, i, ProfileCause::bank_conflict, extra);
  }
  void on_wait_for_loads(simt::Warp& w, const simt::Span& s, uint64_t until) override {
    if (profiler_) profiler_->wait_for_loads(w, s, until);
    account(w);
    w.clock.tracked_until = until;
  }

 private:
  // Bytes of one access in the memory of one owner.
  struct Part {
    const mem::Window* window = nullptr;
    simt::Mask lanes = 0;
    uint32_t sectors = 0;  // of 32 bytes
    bool contiguous = false;
  };

  // The last strong load of a warp.
  struct Poll {
    uint64_t warp = 0;  // identity_of(); 0: none
    mem::Address address = 0;
    Time returned = 0;
    Time stamp = 0;  // of the line, at that load
  };
  static constexpr size_t kPolls = 1024;

  void charge_global(simt::Warp& w, const simt::Access& access, mem::Address first);
  void synchronise(simt::Warp& w, const simt::Sync& sync);
  void charge(simt::Warp& w, const simt::Access& access, const Part& part);
  void charge_load(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_strong_load(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_store(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_atomic(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_async(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_multicast(simt::Warp& w, const simt::Access& access, const Part& part);
  void charge_by_window(simt::Warp& w, const simt::Access& access, simt::Mask lanes);
  void not_global(simt::Warp& w, const simt::Access& access);
  void charge_shared(simt::Warp& w, const simt::Access& access);

  // Weak loads: how many sectors are not in L1, and how many of these not in the owner's L2 either.
  struct Misses {
    uint32_t l1 = 0, l2 = 0;
  };
  // When the bytes of a trip have come through the multiprocessor's port to L2 and the links.
  Time through_port(const simt::Warp& w, uint64_t bytes, const fabric::Trip& trip);
  Misses look_up(const simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  // Sectors that the owner's L2 has not, of an access that L1 has no part in.
  uint32_t misses_of_l2(const simt::Access& access, const Part& part, uint32_t owner, bool writes);
  // The load/store unit's part of a load or store whose lanes are scattered.
  void charge_scattered(simt::Warp& w, const simt::Access& access, const Part& part);
  void barrier(simt::Warp& w, bool cluster, bool ordered);
  Time complete_product(const simt::AsyncCopy& copy);

  // When the last of its lines is written: strong accesses to one line are serialised.
  Time stamp(const simt::Access& access, const Part& part, Time arrival);
  void stamp_members(const simt::Access& access, const Part& part, Time arrival);
  Time newest_stamp(const simt::Access& access, const Part& part) const;
  void end_quantum_if_long(simt::Warp& w);
  // Warps with earlier clocks are next.
  void end_quantum(simt::Warp& w);

  void spend(simt::Warp& w, Time time, platform::Group group);
  void wait_until(simt::Warp& w, Time time);
  Time reserve(UnitCalendar& unit, Time at, uint32_t busy);

  fabric::Fabric* fabric_;
  fabric::ShareLedger& shares_;
  Multiprocessors multiprocessors_;
  std::vector<L2Cache> l2_;  // by device
  Time cycle_ = 0;
  bool by_time_ = false;
  std::unique_ptr<Profiler> profiler_;
  // Of accesses to many lines a part is looked up. Where none of that part is among them, what it was the last time
  // that the instruction was executed.
  struct Sampled {
    Misses misses{1, 1};
    uint32_t looked_up = 1;
  };
  std::array<Sampled, 256> sampled_;  // by Inst::origin
  WriteHistory* history_ = nullptr;
  SyncSteps* steps_ = nullptr;
  LineStamps stamps_;
  std::array<Poll, kPolls> polls_;
  Time last_arrival_ = 0;

  // The quantum of the running warp.
  const simt::Warp* running_ = nullptr;
  Time quantum_start_ = 0;

  // The load reported last, in case it turns out to be part of a cp.async: then nothing waits for it.
  const simt::Inst* last_load_ = nullptr;
  Time loads_before_ = 0;
  const simt::Inst* last_async_ = nullptr;
  const simt::Warp* last_async_warp_ = nullptr;
  bool last_async_in_memory_ = false;  // some of its bytes come from memory, not from L2
  std::vector<uint32_t> members_;
};

}  // namespace fb::machine
