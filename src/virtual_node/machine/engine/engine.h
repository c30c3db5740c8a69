#pragma once

// Runs grids: the warps of all GPUs of the node, one after the other in one thread, and events in virtual time. The
// SchedulePolicy selects what is next. Deterministic: the same calls with the same seed give the same run.
//
// Time is virtual, in picoseconds. Every warp has its own clock; a woken warp's clock is advanced to at least its
// waker's clock, under every policy.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "virtual_node/fabric/share_ledger.h"
#include "virtual_node/machine/engine/device_limits.h"
#include "virtual_node/machine/engine/outcome.h"
#include "virtual_node/machine/engine/poll_counter.h"
#include "virtual_node/machine/engine/schedule/engine_steps.h"
#include "virtual_node/machine/engine/schedule/schedule_policy.h"
#include "virtual_node/machine/engine/schedule/sync_steps.h"
#include "virtual_node/machine/engine/sm_slots.h"
#include "virtual_node/simt/async/async_copy.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/watch.h"

namespace fb::machine {

// The cycle of a GPU where nothing is timed: 1.755 GHz.
inline constexpr Time kDefaultCycle = 570;

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
  Time end = 0;  // of the last block that has ended
  // Where its quanta ended, by Inst::origin: for the report of a run that does not end.
  std::unordered_map<uint32_t, uint64_t> quanta_at;
  std::vector<std::unique_ptr<simt::Block>> blocks;  // resident
  std::vector<std::unique_ptr<simt::Cluster>> clusters;
};

// Implemented by the listener that models the time of accesses.
class TimeKeeper {
 public:
  // When the access reported last takes effect at the memory's owner: warps that it wakes go on no earlier.
  virtual Time last_arrival() const = 0;
  // When a copy that is being issued takes effect.
  virtual Time arrival_of(const simt::AsyncCopy& copy) = 0;
  // The warp's clock is about to be read, or moved by others: what was spent on instructions is noted in the ledger.
  virtual void account(simt::Warp& w) = 0;
  // Whether what comes from now on is ordered by time.
  virtual void order_by_time(bool by_time) = 0;

 protected:
  ~TimeKeeper() = default;
};

// Sees blocks come and go, for timelines.
class BlockWatcher {
 public:
  virtual void on_launch(const GridRun& run) = 0;
  virtual void on_block_start(const GridRun& run, const simt::Block& block, Time at) = 0;
  virtual void on_block_end(const GridRun& run, const simt::Block& block, Time at) = 0;
  // Blocks that have not ended never will: their grid was ended by a fault, or with its process.
  virtual void on_grid_removed(const GridRun& run, Time at) = 0;

 protected:
  ~BlockWatcher() = default;
};

struct EngineOptions {
  ScheduleKind schedule = ScheduleKind::first_come;
  uint64_t seed = 0;
  std::vector<uint32_t> choices;     // ScheduleKind::chosen: the first ones; after them always the first option
  uint64_t budget = 20'000'000'000;  // warp instructions of the whole run
  TimeKeeper* time_keeper = nullptr;
  // With the time keeper: what times are made of, and the start of a block in the place of one that has ended.
  fabric::ShareLedger* shares = nullptr;
  Time block_start = 0;
};

class Engine final : public EngineSteps {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Adds a GPU and returns the number by which grids name it. A warp issues an instruction every
  // `cycles_per_instruction` cycles of `cycle` picoseconds, or less often where many warps share the SM's `schedulers`.
  uint32_t add_gpu(const DeviceLimits& limits, Time cycle = kDefaultCycle, uint32_t cycles_per_instruction = 4,
                   uint32_t schedulers = 4);

  // From here on; it must live as long as grids are run or abandoned.
  void watch_blocks(BlockWatcher& watcher) { block_watcher_ = &watcher; }

  GridRun& launch(std::unique_ptr<GridRun> run);
  // Ends all grids that run in this environment, without calling on_end.
  void abandon(const simt::Environment& environment);

  // Blocks that are resident and execute nothing here: of operations that are modelled as a whole. `begin` is called
  // when there is room for all of them, behind the blocks of grids that were launched earlier; at once, if there is.
  struct Residents {
    uint32_t gpu = 0;
    BlockNeeds needs;
    std::vector<uint32_t> sms;
  };
  void make_resident(uint32_t gpu, const BlockNeeds& needs, uint32_t blocks, std::function<void(Residents)> begin);
  // Up to so many more, as there is room now; none while blocks of grids wait for it.
  void add_residents(Residents& residents, uint32_t blocks);
  void release(const Residents& residents);

  // An event at a time. Events at the same time fire by `tie`, then by order of scheduling: an event on behalf of a
  // host needs a tie of its own, because messages of hosts arrive in any order.
  void schedule(Time at, uint64_t tie, std::function<void()> what, EventAbout about = {},
                std::function<bool()> is_over = nullptr);

  // Performs what the policy selects. False: nothing can run (or the budget is used up).
  bool step() { return !out_of_budget() && (fire_left_events() || policy_->step(*this)); }
  // Nothing can run: lets time pass for warps that poll the clock. False if none does, or it does not help.
  bool pass_time();
  // Polling has a budget of its own, of the same size: how long a warp must poll is a matter of the schedule.
  bool out_of_budget() const { return worked() >= options_.budget || polls_.polled() >= options_.budget; }
  // Instructions of warps that did not poll, and everything else that was charged.
  uint64_t worked() const { return instructions_ - polls_.polled() + charged_; }
  // Other work than instructions counts as so many of them.
  void charge(uint64_t instructions) { charged_ += instructions; }

  // The order of everything that comes from now on. No grid may be running; events that are left fire first.
  void set_schedule(ScheduleKind kind, uint64_t seed);
  uint64_t seed() const { return seed_; }

  // For the listener that counts synchronisation steps.
  SyncSteps& sync_steps() { return steps_; }
  // ScheduleKind::chosen: all choices there were.
  std::vector<record::Choice> choices() const { return policy_->choices(); }

  // For the environments of blocks
  simt::Watch& watch() { return watch_; }
  void make_ready(simt::Warp& warp, simt::Environment::Cause cause);
  void start(simt::AsyncCopy copy);
  uint64_t cycles();
  uint64_t nanoseconds();
  // Before memory is freed or moved: completes all copies, and wakes the warps that sleep on memory.
  void forget(const simt::Environment& environment);
  // A host process may have written memory: wakes the warps that sleep on changed bytes.
  void recheck_watches();

  Time now() const override { return now_; }
  // Of what happens now: the running warp's clock, or the time of the event that is fired, which may be earlier than
  // now() if a warp behind the others has caused it.
  Time acting_time() const {
    if (!running_) return acting_at_.value_or(now_);
    if (options_.time_keeper) options_.time_keeper->account(*running_);
    return running_->clock.now;
  }
  uint64_t instructions() const { return instructions_; }

  // Polls, by warps and by hosts that ask whether work has ended.
  PollCounter& polls() { return polls_; }
  // True from time to time, while all that runs are polls.
  bool take_only_polls();
  // Every warp has polled for so long, and nothing else has happened, that nothing can end it but a counter or time.
  bool polls_in_vain() const { return polls_.may_be_in_vain() && polls_.in_vain(resident_warps()); }
  // For reports: warps that poll in vain sleep on what they read.
  void sleep_on_polls();
  // Rolling hash of every scheduling quantum (warp, instruction count). Equal hashes mean identical schedules.
  uint64_t schedule_hash() const { return schedule_hash_; }
  const std::vector<std::unique_ptr<GridRun>>& runs() const { return runs_; }
  // Of grids that have ended, by GPU and kernel.
  struct Ended {
    uint64_t launches = 0, blocks = 0, instructions = 0;
  };
  const std::map<std::pair<uint32_t, std::string>, Ended>& ended() const { return ended_; }

  // For schedule policies
  void run_quantum(simt::Warp& warp) override;
  void fire(const TimedEvent& event) override;
  const Copies& copies() const override { return copies_; }
  void perform_copy(size_t k) override;
  void perform_on_arrival(const simt::AsyncCopy& copy) override;
  void start_all_blocks(uint32_t gpu) override;
  void start_all_blocks() override;
  bool start_a_block_on_each_gpu() override;
  bool is_poll_due() const override { return now_ >= next_poll_; }
  void poll_clock_readers() override;

 private:
  struct Gpu {
    DeviceLimits limits;
    SmSlots slots;
    Time cycle = 0;
    uint32_t cycles_per_instruction = 0;
    uint32_t schedulers = 0;
    uint32_t waiting = 0;                 // grids that have blocks not yet started
    std::vector<uint32_t> warps_started;  // by multiprocessor
    struct Waiting {
      BlockNeeds needs;
      uint32_t blocks = 0;
      std::function<void(Residents)> begin;
    };
    std::deque<Waiting> waiting_residents;  // oldest first
  };

  std::optional<Residents> find_room(uint32_t gpu, const BlockNeeds& needs, uint32_t blocks);
  // There is more room: residents that wait for it are asked for at the time of the event that made it.
  void offer_room(uint32_t gpu);

  bool fire_left_events();
  // A warp goes on no earlier than another agent lets it.
  void move_clock(simt::Warp& warp, Time to) const;
  // Before a warp reads its clock.
  void settle_clock();
  uint64_t resident_warps() const;
  bool start_next(uint32_t gpu);
  bool start_blocks(GridRun& run);
  void finish_warp(GridRun& run, simt::Warp& warp);
  void retire(simt::Block& block);
  void end(GridRun& run, Outcome&& outcome);
  void remove(GridRun& run);
  void complete_copy(size_t k);
  void fault(simt::Warp& warp, const simt::Trap& trap);
  void wake_clock_readers();
  void wait_until_now();
  template <class F>
  void for_each_warp(F f) const;
  GridRun& run_of(const simt::Block& block);
  Time issue_time(const Gpu& gpu, const simt::Warp& warp) const;

  EngineOptions options_;
  BlockWatcher* block_watcher_ = nullptr;
  SyncSteps steps_;
  struct OwnedPolicy {
    ScheduleKind kind{};
    uint64_t seed = 0;
    std::unique_ptr<SchedulePolicy> policy;
  };
  std::vector<OwnedPolicy> policies_;  // all that were used: a policy that is used again goes on where it was
  SchedulePolicy* policy_ = nullptr;   // the current one
  uint64_t seed_ = 0;
  SchedulePolicy* policy_left_ = nullptr;  // the one before, while it may have events
  bool timed_ = false;                     // SchedulePolicy::is_timed()
  simt::Watch watch_;
  std::vector<Gpu> gpus_;
  std::vector<std::unique_ptr<GridRun>> runs_;
  std::map<std::pair<uint32_t, std::string>, Ended> ended_;
  uint64_t next_event_ = 0;
  Copies copies_;
  uint64_t next_copy_ = 0;
  simt::Warp* running_ = nullptr;
  simt::Warp* faulting_ = nullptr;  // the warp that a trap is charged to
  uint64_t instructions_ = 0;
  uint64_t charged_ = 0;
  PollCounter polls_;
  uint64_t schedule_hash_ = 0;
  Time now_ = 0;
  std::optional<Time> acting_at_;
  uint64_t clock_reads_ = 0;  // added to the untimed clock, so that it advances with every read
  Time next_poll_ = 0;
  Time idle_jump_ = 0;  // size of the last idle-time jump; doubled on each, reset when another agent wakes a warp
};

}  // namespace fb::machine
