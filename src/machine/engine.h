#pragma once

// Runs grids: the warps of all GPUs of the node, one after the other in one thread, and whatever else happens at a
// time. Deterministic: the same calls with the same seed give the same run.
//
// Time is virtual, in picoseconds. Every warp has its own clock; who is woken is no earlier than who woke it. Ordered
// by time, the earliest agent runs first. In the other orders the clocks still follow the chains of who waited for
// whom.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "machine/choices.h"
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

// What an event is about, for orders other than by time.
struct EventAbout {
  enum class Kind : uint8_t {
    bookkeeping,  // touches no memory that kernels see
    memory,       // reads or writes such memory
    poll,         // answers a host that asks again and again
  };
  Kind kind = Kind::bookkeeping;
  uint32_t device = kNoDevice;  // whose link or copy engine it needs
};

struct EngineOptions {
  Order order = Order::first_come;
  uint64_t seed = 0;
  std::vector<uint32_t> choices;     // Order::chosen: the first of them; then always the first way to go on
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
  void schedule(Time at, uint64_t tie, std::function<void()> what, EventAbout about = {});

  // Does the next thing. False: there is nothing to do, everybody waits (or the budget is used up).
  bool step();
  // Nothing can run: lets time pass for those who look at the clock. False if nobody does, or it does not help.
  bool pass_time();
  bool out_of_budget() const { return instructions_ >= options_.budget; }

  // --- Schedules
  // For the listener that sees what warps do.
  SyncSteps& sync_steps() { return queue_.steps; }
  Strategy strategy() const { return queue_.strategy(); }
  // The device whose link is slow in this run; kNoDevice: none is.
  uint32_t slow_device() const { return queue_.slow_device(); }
  // Order::chosen: all choices there were.
  const std::vector<record::Choice>& choices() const { return choices_.taken(); }

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
    uint32_t device = kNoDevice;
    std::function<void()> what;
    friend bool operator<(const Event& a, const Event& b) {
      return std::tie(a.at, a.tie, a.number) > std::tie(b.at, b.tie, b.number);
    }
  };

  // Events wait in lines. By time there is one. At random those of the slow link have their own; as chosen, those that
  // touch memory and those that answer polls have.
  enum Line : uint8_t { kMain, kSlow, kMemory = kSlow, kPolls, kLines };
  using Events = std::vector<Event>;  // a heap

  bool step_by_time();
  bool step_in_turn();
  bool step_as_chosen();
  Line line_of(const EventAbout& about) const;
  std::optional<Line> next_line(bool idle);
  bool happen(const Event& event);
  void use(uint32_t device, bool nobody_works);
  bool run_event(Line line = kMain);
  std::optional<size_t> next_copy(bool idle);
  bool perform_copy(size_t k);
  bool run_warp();
  bool run_warp(simt::Warp& warp);
  bool look_now_and_then();
  bool choose_next();
  void add_events(std::vector<std::function<void()>>& options);
  void note_stop(const simt::Warp& warp, simt::Stop stop);
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
  Choices choices_;
  simt::Warp* current_ = nullptr;  // as chosen: who ran last, if it can go on
  uint32_t turns_of_current_ = 0;
  bool at_choice_ = false;  // current_ has come to where others may be chosen
  simt::Watch watch_;
  std::vector<Gpu> gpus_;
  std::vector<std::unique_ptr<GridRun>> runs_;
  std::array<Events, kLines> events_;
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
