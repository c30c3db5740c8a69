#pragma once

// Synchronisation steps of warps: strong accesses, fences, arrivals at barriers. At these one warp may order another,
// so the schedules worth telling apart differ in the order of these steps. A listener counts them (MemoryClock); the
// schedule policy says at which of them the warp is preempted.

#include <cstdint>

#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {

class SyncSteps {
 public:
  // A listener counts steps from now on; a constant count then means that no synchronisation happened.
  void attach() { attached_ = true; }
  bool attached() const { return attached_; }

  // The warp that takes this step stops behind it.
  void stop_at(uint64_t step) { stop_at_ = step; }
  // Every warp stops behind every access that may order others.
  void stop_at_each() { each_ = true; }
  uint64_t count() const { return count_; }

  void take(simt::Warp& warp, const simt::Access& access);
  void take(simt::Warp& warp, const simt::Sync& sync);
  // Where nothing is observed: the end of a quantum counts as a step.
  void take_quantum() { due_ |= ++count_ == stop_at_; }

  // Whether a warp has stopped since the last call.
  bool take_due();
  // Another agent has acted: a polled word may have changed.
  void forget_poll() { poll_ = {}; }

 private:
  // Re-reading the same address with no intervening action is not a scheduling point.
  struct Poll {
    const simt::Warp* warp = nullptr;
    const simt::Inst* inst = nullptr;
    uint64_t address = 0;
    simt::Mask lanes = 0;
    friend bool operator==(const Poll&, const Poll&) = default;
  };

  void count(simt::Warp& warp);
  void stop(simt::Warp& warp);

  bool attached_ = false, each_ = false, due_ = false;
  uint64_t count_ = 0;
  uint64_t stop_at_ = 0;
  Poll poll_;
};

}  // namespace fb::machine
