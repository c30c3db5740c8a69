#pragma once

// Synchronisation steps of warps: strong accesses, fences, arrivals at barriers. At these one warp may order another,
// so schedules that matter differ in who takes which step first. A listener counts them (MemoryClock); the scheduler
// says at which of them the warp is to stop.

#include <cstdint>

#include "simt/listener.h"
#include "simt/warp.h"

namespace fb::machine {

class SyncSteps {
 public:
  // Somebody counts: from here on a count that stands still means that nothing synchronises.
  void attach() { attached_ = true; }
  bool attached() const { return attached_; }

  // Whoever takes this step stops behind it.
  void stop_at(uint64_t step) { stop_at_ = step; }
  // Everybody stops behind every access that may order others.
  void stop_at_each() { each_ = true; }
  uint64_t count() const { return count_; }

  void take(simt::Warp& warp, const simt::Access& access);
  void take(simt::Warp& warp, const simt::Sync& sync);
  // Where nothing is observed: the end of a turn stands for a step.
  void take_turn() { due_ |= ++count_ == stop_at_; }

  // Whether somebody has stopped since this was asked last.
  bool take_due();
  // Others have acted: what was polled before may have changed.
  void forget_poll() { poll_ = {}; }

 private:
  // A load that a warp repeats while nobody else acts sees the same again: no step of its own.
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
