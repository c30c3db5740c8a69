#pragma once

// Charges a warp's accesses to its clock, by asking the fabric how long they take.
//
// What is promised about order: memory changes when an instruction is executed, but the change takes effect at the time
// at which it arrives at the memory's owner. A warp that reads a flag written by a strong store or an atomic operation
// continues no earlier than that arrival plus the latency back, regardless of its own clock.
//
// Within a warp: loads overlap until something depends on them (a store, an atomic operation, a fence, a barrier, the
// end); strong loads and atomic operations with a result are waited for at once; stores are never waited for, except by
// fences and releases. The engine adds the time to issue instructions and the time of barriers.
//
// At the end of a warp clock.stores may be later than clock.now: its stores are still in flight, and a kernel has ended
// only when they have arrived.

#include <array>
#include <cstdint>
#include <vector>

#include "fabric/fabric.h"
#include "machine/deadlock/write_history.h"
#include "machine/engine.h"
#include "machine/line_stamps.h"
#include "mem/address_space.h"
#include "simt/listener.h"
#include "simt/warp.h"

namespace fb::machine {

class MemoryClock final : public simt::Listener, public TimeKeeper {
 public:
  explicit MemoryClock(fabric::Fabric& fabric) : fabric_(&fabric) { sees_local_loads = false; }

  // Also records writes and strong loads in `history`.
  void keep_history(WriteHistory* history) { history_ = history; }

  // When the access reported last has its effect: at the owner of the bytes for stores and atomic operations, at the
  // warp for loads. Of an asynchronous copy: when its last byte has arrived.
  Time last_arrival() const override { return last_arrival_; }
  // Also counts synchronisation steps in `steps`.
  void count_steps(SyncSteps& steps) {
    steps.attach();
    steps_ = &steps;
  }

  void on_access(simt::Warp& w, const simt::Access& access) override;
  void on_sync(simt::Warp& w, const simt::Sync& sync) override;
  void on_warp_exit(simt::Warp& w) override;

 private:
  // Bytes of one access in the memory of one owner.
  struct Part {
    const mem::Window* window = nullptr;
    simt::Mask lanes = 0;
    uint32_t sectors = 0;  // of 32 bytes
  };

  // The last strong load of a warp.
  struct Poll {
    uint64_t warp = 0;  // identity_of(); 0: none
    mem::Address address = 0;
    Time returned = 0;
    Time stamp = 0;  // of the line, at that load
  };
  static constexpr size_t kPolls = 1024;

  void charge(simt::Warp& w, const simt::Access& access, const Part& part);
  void charge_load(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_strong_load(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_store(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_atomic(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_async(simt::Warp& w, const simt::Access& access, const Part& part, uint32_t owner);
  void charge_multicast(simt::Warp& w, const simt::Access& access, const Part& part);
  void charge_by_window(simt::Warp& w, const simt::Access& access, simt::Mask lanes);
  void not_global(simt::Warp& w, const simt::Access& access);

  // A release waits until all earlier accesses are performed and visible.
  void release(simt::Warp& w, const simt::Access& access);
  // When the last of its lines is written: strong accesses to one line are serialised.
  Time stamp(const simt::Access& access, const Part& part, Time arrival);
  void stamp_members(const simt::Access& access, const Part& part, Time arrival);
  Time newest_stamp(const simt::Access& access, const Part& part) const;
  void end_quantum_if_long(simt::Warp& w);

  fabric::Fabric* fabric_;
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
  std::vector<uint32_t> members_;
};

}  // namespace fb::machine
