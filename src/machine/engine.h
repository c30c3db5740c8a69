#pragma once

// Runs grids: the warps of all GPUs of the node, one after the other in one thread, and whatever else happens at a
// time. Deterministic: the same calls with the same seed give the same run.
//
// Time is virtual, in picoseconds. Every warp has its own clock; who is woken is no earlier than who woke it. Ordered
// by time, the earliest agent runs first. In the other orders the clocks still follow the chains of who waited for
// whom.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "machine/device_limits.h"
#include "machine/outcome.h"
#include "machine/run_queue.h"
#include "machine/sm_slots.h"
#include "simt/async.h"
#include "simt/block.h"
#include "simt/environment.h"
#include "simt/watch.h"

namespace fb::machine {

using Time = uint64_t;  // picoseconds

// A launched grid.
struct GridRun {
  simt::Grid grid;
  uint32_t gpu = 0;
  int32_t priority = 0;  // lower starts its blocks first
  simt::Environment* environment = nullptr;
  simt::Listener* listener = nullptr;
  Time start = 0;  // no block starts earlier
  // Called once, when the last block has ended, or with a fault. The run is gone when it returns.
  std::function<void(GridRun& run, Outcome&& outcome)> on_end;

  // The engine's.
  BlockNeeds needs;
  uint64_t next_block = 0;
  uint64_t finished_blocks = 0;
  uint64_t instructions = 0;
  Time end = 0;                                      // of the last block that has ended
  std::vector<std::unique_ptr<simt::Block>> blocks;  // resident
  std::vector<std::unique_ptr<simt::Cluster>> clusters;
};

// What a listener that keeps time tells the scheduler.
class TimeKeeper {
 public:
  // When the access reported last takes effect at the memory's owner: those whom it wakes go on no earlier.
  virtual Time last_arrival() const = 0;

 protected:
  ~TimeKeeper() = default;
};

struct EngineOptions {
  Order order = Order::first_come;
  uint64_t seed = 0;
  uint64_t budget = 20'000'000'000;  // warp instructions of the whole run
  const TimeKeeper* time_keeper = nullptr;
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();

  // A GPU; the number by which grids name it. A warp issues an instruction every `cycles_per_instruction` cycles of
  // `cycle` picoseconds, or less often where many warps share the SM's `schedulers`.
  uint32_t add_gpu(const DeviceLimits& limits, Time cycle = 570, uint32_t cycles_per_instruction = 4,
                   uint32_t schedulers = 4);

  GridRun& launch(std::unique_ptr<GridRun> run);
  // Ends all grids that run in this environment, without calling on_end.
  void abandon(const simt::Environment& environment);

  // Something that happens at a time. Among those at the same time the smaller `tie` comes first, then who was first:
  // what is scheduled on behalf of a host, whose messages arrive in any order, needs a tie of its own.
  void schedule(Time at, uint64_t tie, std::function<void()> what);

  // Does the next thing. False: there is nothing to do, everybody waits (or the budget is used up).
  bool step();
  // Nothing can run: lets time pass for those who look at the clock. False if nobody does, or it does not help.
  bool pass_time();
  bool out_of_budget() const { return instructions_ >= options_.budget; }

  // For the environments of blocks.
  simt::Watch& watch() { return watch_; }
  void make_ready(simt::Warp& warp, simt::Environment::Cause cause);
  void start(simt::AsyncCopy copy);
  uint64_t cycles();
  uint64_t nanoseconds();
  // Before memory goes away or moves: no copy is in flight to it and nobody sleeps on it afterwards.
  void forget(const simt::Environment& environment);
  // Memory may have been written by a process of the host: wakes who slept on it.
  void look_again();

  Time now() const { return now_; }
  // The time of whoever acts: the running warp's, or now().
  Time acting_time() const { return running_ ? running_->clock.now : now_; }
  uint64_t instructions() const { return instructions_; }
  // Of every turn that was given: who, and how long. Two runs with the same hash took the same course.
  uint64_t course() const { return course_; }
  const std::vector<std::unique_ptr<GridRun>>& runs() const { return runs_; }
  // What every resident warp of a grid waits for.
  Deadlock explain(const GridRun& run, const mem::AddressSpace& memory) const;

 private:
  struct Gpu {
    DeviceLimits limits;
    SmSlots slots;
    Time cycle = 0;
    uint32_t cycles_per_instruction = 0;
    uint32_t schedulers = 0;
    uint32_t waiting = 0;  // grids that have blocks not yet started
  };
  struct Event {
    Time at = 0;
    uint64_t tie = 0;
    uint64_t number = 0;
    std::function<void()> what;
    friend bool operator<(const Event& a, const Event& b) {
      return std::tie(a.at, a.tie, a.number) > std::tie(b.at, b.tie, b.number);
    }
  };

  bool run_event();
  bool run_warp();
  bool start_next(uint32_t gpu);
  bool start_some();
  bool start_blocks(GridRun& run);
  void start_all(uint32_t gpu);
  void retire(simt::Block& block);
  void end(GridRun& run, Outcome&& outcome);
  void remove(GridRun& run);
  void complete_copy(size_t k);
  void fault(simt::Warp& warp, const simt::Trap& trap);
  void wake_clock_readers();
  GridRun& run_of(const simt::Block& block);
  Time issue_time(const Gpu& gpu, const simt::Warp& warp) const;

  EngineOptions options_;
  RunQueue queue_;
  simt::Watch watch_;
  std::vector<Gpu> gpus_;
  std::vector<std::unique_ptr<GridRun>> runs_;
  std::vector<Event> events_;  // heap
  uint64_t next_event_ = 0;
  std::deque<simt::AsyncCopy> copies_;
  simt::Warp* running_ = nullptr;
  simt::Warp* faulting_ = nullptr;  // on whose behalf the engine acts: its trap
  uint64_t instructions_ = 0;
  uint64_t course_ = 0;
  Time now_ = 0;
  uint64_t ticks_ = 0;  // reads of the clock: it never stands still
  Time next_look_ = 0;  // when those who poll must make room
  Time leap_ = 0;       // how far time jumped when everybody waited for it; 0 once anybody was woken by somebody
};

}  // namespace fb::machine
