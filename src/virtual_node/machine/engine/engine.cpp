#include "virtual_node/machine/engine/engine.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/hash.h"
#include "virtual_node/machine/engine/instruction_location.h"
#include "virtual_node/machine/engine/schedule/make_policy.h"
#include "virtual_node/simt/async/async.h"

namespace fb::machine {
namespace {

constexpr Time kMicrosecond = 1'000'000;
constexpr Time kFirstJump = kMicrosecond / 2;
constexpr Time kLongestJump = uint64_t{1} << 53;  // hours: no sane time-out is longer
constexpr Time kPollInterval = 150 * kMicrosecond;

// What it costs to start things, in instructions.
constexpr uint64_t kBlockCost = 64, kWarpCost = 16, kGridCost = 256;
// Grids that execute more than this are profiled.
constexpr uint64_t kLongRunning = 500'000;

}  // namespace

template <class F>
void Engine::for_each_warp(F f) const {
  for (const auto& run : runs_) {
    for (const auto& block : run->blocks) {
      for (const auto& warp : block->warps()) f(*warp);
    }
  }
}

Engine::Engine(const EngineOptions& options) : options_(options), next_poll_(kPollInterval) {
  set_schedule(options.schedule, options.seed);
}
Engine::~Engine() = default;

uint32_t Engine::add_gpu(const DeviceLimits& limits, Time cycle, uint32_t cycles_per_instruction, uint32_t schedulers) {
  gpus_.push_back(
      {limits, SmSlots(limits), cycle, cycles_per_instruction, schedulers, 0, std::vector<uint32_t>(limits.sms), {}});
  return static_cast<uint32_t>(gpus_.size() - 1);
}

void Engine::set_schedule(ScheduleKind kind, uint64_t seed) {
  FB_CHECK(runs_.empty());
  seed_ = seed;
  auto found = std::ranges::find_if(policies_, [&](const OwnedPolicy& p) { return p.kind == kind && p.seed == seed; });
  if (found == policies_.end()) {
    policies_.push_back({kind, seed, make_policy(kind, seed, options_.choices, steps_)});
    found = std::prev(policies_.end());
  }
  if (found->policy.get() == policy_) return;
  while (fire_left_events()) {
  }
  policy_left_ = std::exchange(policy_, found->policy.get());
  timed_ = policy_->is_timed();
  if (options_.time_keeper) options_.time_keeper->order_by_time(timed_);
}

bool Engine::fire_left_events() {
  if (policy_left_ == nullptr) return false;
  if (policy_left_->step(*this)) return true;
  policy_left_ = nullptr;
  return false;
}

// Grids and blocks

GridRun& Engine::launch(std::unique_ptr<GridRun> launched) {
  GridRun& run = *launched;
  FB_CHECK(run.gpu < gpus_.size() && run.grid.grid.count() != 0);
  run.needs = needs_of(run.grid, gpus_[run.gpu].limits);
  policy_->on_device_used(run.gpu, runs_.empty());
  runs_.push_back(std::move(launched));
  ++gpus_[run.gpu].waiting;
  idle_jump_ = 0;
  polls_.note_progress();
  charge(kGridCost);
  if (block_watcher_) block_watcher_->on_launch(run);
  policy_->on_room(*this, run.gpu);
  return run;
}

GridRun& Engine::run_of(const simt::Block& block) {
  const auto found = std::ranges::find_if(runs_, [&](const auto& r) { return &r->grid == &block.grid(); });
  FB_CHECK(found != runs_.end());
  return **found;
}

std::optional<Engine::Residents> Engine::find_room(uint32_t gpu, const BlockNeeds& needs, uint32_t blocks) {
  Residents r{gpu, needs, {}};
  SmSlots& slots = gpus_[gpu].slots;
  const auto most = static_cast<uint32_t>(std::min<uint64_t>(blocks, slots.capacity(needs)));
  while (r.sms.size() < most) {
    const auto sm = slots.take(needs);
    if (!sm) {
      for (const uint32_t taken : r.sms) slots.give_back(taken, needs);
      return std::nullopt;
    }
    r.sms.push_back(*sm);
  }
  return r;
}

void Engine::make_resident(uint32_t gpu, const BlockNeeds& needs, uint32_t blocks,
                           std::function<void(Residents)> begin) {
  Gpu& g = gpus_[gpu];
  if (g.waiting_residents.empty() && g.waiting == 0) {
    if (auto room = find_room(gpu, needs, blocks)) return begin(std::move(*room));
  }
  g.waiting_residents.push_back({needs, blocks, std::move(begin)});
  offer_room(gpu);
}

void Engine::add_residents(Residents& residents, uint32_t blocks) {
  Gpu& gpu = gpus_[residents.gpu];
  for (; blocks != 0 && gpu.waiting == 0; --blocks) {
    const auto sm = gpu.slots.take(residents.needs);
    if (!sm) return;
    residents.sms.push_back(*sm);
  }
}

void Engine::release(const Residents& residents) {
  for (const uint32_t sm : residents.sms) gpus_[residents.gpu].slots.give_back(sm, residents.needs);
  offer_room(residents.gpu);
  policy_->on_room(*this, residents.gpu);
}

void Engine::offer_room(uint32_t gpu) {
  if (gpus_[gpu].waiting_residents.empty()) return;
  schedule(acting_time(), 0, [this, gpu] {
    auto& waiting = gpus_[gpu].waiting_residents;
    while (!waiting.empty() && gpus_[gpu].waiting == 0) {
      auto room = find_room(gpu, waiting.front().needs, waiting.front().blocks);
      if (!room) return;
      const auto begin = std::move(waiting.front().begin);
      waiting.pop_front();
      begin(std::move(*room));
    }
  });
}

// The next block (or cluster) of the grid that comes first on this GPU, if there is room.
bool Engine::start_next(uint32_t gpu) {
  if (gpus_[gpu].waiting == 0) return false;
  GridRun* first = nullptr;
  for (const auto& run : runs_) {
    if (run->gpu != gpu || run->next_block >= run->grid.grid.count()) continue;
    if (!first || run->priority < first->priority) first = run.get();
  }
  return first && start_blocks(*first);
}

void Engine::start_all_blocks(uint32_t gpu) {
  while (start_next(gpu)) {
  }
}

void Engine::start_all_blocks() {
  for (uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) start_all_blocks(gpu);
}

bool Engine::start_a_block_on_each_gpu() {
  bool any = false;
  for (uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) any |= start_next(gpu);
  return any;
}

bool Engine::start_blocks(GridRun& run) {
  const simt::Grid& grid = run.grid;
  Gpu& gpu = gpus_[run.gpu];
  const uint64_t together = grid.cluster.count();
  std::vector<uint32_t> sms;
  for (uint64_t k = 0; k < together; ++k) {
    const auto sm = gpu.slots.take(run.needs);
    if (!sm) {
      for (uint32_t taken : sms) gpu.slots.give_back(taken, run.needs);
      return false;
    }
    sms.push_back(*sm);
  }
  polls_.note_progress();
  charge(together * (kBlockCost + kWarpCost * ((grid.block.count() + simt::kLanes - 1) / simt::kLanes)));
  simt::Cluster* cluster = nullptr;
  if (grid.explicit_cluster) cluster = run.clusters.emplace_back(std::make_unique<simt::Cluster>()).get();
  // Clusters are numbered along x, y, z; inside one the blocks too.
  const uint64_t c = run.next_block / together;
  const uint64_t across_x = grid.grid.x / grid.cluster.x, across_y = grid.grid.y / grid.cluster.y;
  const uint64_t cx = c % across_x, cy = c / across_x % across_y, cz = c / across_x / across_y;
  // A block that had to wait for the end of another one.
  const bool waited = run.finished_blocks != 0;
  Time room = acting_time();
  if (waited && options_.shares) room = options_.shares->later(room, options_.block_start, platform::Group::launch);
  const Time begins = std::max(run.start, room) + policy_->draw_start_delay();
  for (uint64_t rank = 0; rank < together; ++rank) {
    const uint64_t x = cx * grid.cluster.x + rank % grid.cluster.x;
    const uint64_t y = cy * grid.cluster.y + rank / grid.cluster.x % grid.cluster.y;
    const uint64_t z = cz * grid.cluster.z + rank / grid.cluster.x / grid.cluster.y;
    const uint64_t index = (z * grid.grid.y + y) * grid.grid.x + x;
    auto block = std::make_unique<simt::Block>(grid, index, *run.environment, run.listener);
    block->sm = sms[rank];
    block->device = run.gpu;
    block->first_scheduler = gpu.warps_started[block->sm] % gpu.schedulers;
    gpu.warps_started[block->sm] += static_cast<uint32_t>(block->warps().size());
    block->cluster = cluster;
    block->rank_in_cluster = static_cast<uint32_t>(rank);
    block->resident_index = static_cast<uint32_t>(run.blocks.size());
    if (cluster) cluster->blocks.push_back(block.get());
    if (block_watcher_) block_watcher_->on_block_start(run, *block, begins);
    for (const auto& warp : block->warps()) {
      warp->clock.now = warp->clock.loads = warp->clock.stores = warp->clock.settled = begins;
      if (run.listener) run.listener->on_warp_start(*warp);
      policy_->push(*warp);
    }
    run.blocks.push_back(std::move(block));
  }
  run.next_block += together;
  if (run.next_block >= grid.grid.count()) --gpu.waiting;
  return true;
}

namespace {

void take_out(std::vector<std::unique_ptr<simt::Block>>& blocks, uint32_t index) {
  if (index + 1 != blocks.size()) {
    blocks[index] = std::move(blocks.back());
    blocks[index]->resident_index = index;
  }
  blocks.pop_back();
}

}  // namespace

// A block has exited. Its memory stays until no copy and no block of its cluster can touch it any more.
void Engine::retire(simt::Block& ended) {
  for (size_t k = 0; k < copies_.size();) {
    if (copies_[k]->block == &ended || copies_[k]->other == &ended) {
      complete_copy(k);
    } else {
      ++k;
    }
  }
  GridRun& run = run_of(ended);
  ++run.finished_blocks;
  gpus_[run.gpu].slots.give_back(ended.sm, run.needs);
  Time ends = 0;
  for (const auto& warp : ended.warps()) {
    ends = std::max(ends, warp->clock.now);
    run.end = std::max({run.end, warp->clock.now, warp->clock.loads, warp->clock.stores});
  }
  offer_room(run.gpu);
  if (block_watcher_) block_watcher_->on_block_end(run, ended, ends);
  if (simt::Cluster* cluster = ended.cluster) {
    if (std::ranges::all_of(cluster->blocks, [](const simt::Block* b) { return b->finished(); })) {
      for (simt::Block* block : std::vector(cluster->blocks)) take_out(run.blocks, block->resident_index);
      std::erase_if(run.clusters, [&](const auto& c) { return c.get() == cluster; });
    }
  } else {
    take_out(run.blocks, ended.resident_index);
  }
  if (run.finished_blocks == run.grid.grid.count()) {
    Outcome outcome;
    outcome.instructions = run.instructions;
    end(run, std::move(outcome));
  }
}

void Engine::end(GridRun& run, Outcome&& outcome) {
  const uint32_t gpu = run.gpu;
  const auto on_end = std::move(run.on_end);
  const auto found = std::ranges::find_if(runs_, [&](const auto& r) { return r.get() == &run; });
  remove(run);
  const std::unique_ptr<GridRun> kept = std::move(*found);
  runs_.erase(found);
  Ended& all = ended_[{gpu, kept->grid.kernel->name}];
  ++all.launches;
  all.blocks += kept->finished_blocks;
  all.instructions += kept->instructions;
  policy_->on_room(*this, gpu);
  if (on_end) on_end(*kept, std::move(outcome));
}

// Takes a grid off its GPU: after a fault, warps may sleep and copies may be in flight.
void Engine::remove(GridRun& run) {
  policy_->remove(run.grid);
  const auto of_run = [&](const auto& c) { return &c->block->grid() == &run.grid; };
  std::erase_if(copies_, of_run);
  for (const auto& block : run.blocks) {
    for (const auto& warp : block->warps()) warp->forget_reads();
    if (!block->finished()) gpus_[run.gpu].slots.give_back(block->sm, run.needs);
  }
  policy_->remove(run.grid);  // forgetting woke them
  if (run.next_block < run.grid.grid.count()) {
    run.next_block = run.grid.grid.count();
    --gpus_[run.gpu].waiting;
  }
  run.blocks.clear();
  run.clusters.clear();
  offer_room(run.gpu);
  if (block_watcher_) block_watcher_->on_grid_removed(run, now_);
}

void Engine::abandon(const simt::Environment& environment) {
  for (size_t k = 0; k < runs_.size();) {
    if (runs_[k]->environment != &environment) {
      ++k;
      continue;
    }
    remove(*runs_[k]);
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(k));
  }
  for (uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) policy_->on_room(*this, gpu);
}

// Events, copies and quanta

void Engine::schedule(Time at, uint64_t tie, std::function<void()> what, EventAbout about,
                      std::function<bool()> is_over) {
  policy_->add({at, tie, next_event_++, about, std::move(what), std::move(is_over)});
}

void Engine::fire(const TimedEvent& event) {
  if (is_void(event)) return;
  // Here, not when it was scheduled: the order in which hosts ask for work is a matter of real time.
  if (event.about.device != kNoDevice) policy_->on_device_used(event.about.device, false);
  now_ = std::max(now_, event.at);
  policy_->on_event_or_copy();
  if (event.about.kind != EventAbout::Kind::poll) polls_.note_progress();
  const auto before = std::exchange(acting_at_, timed_ ? std::optional(event.at) : std::nullopt);
  event.what();
  acting_at_ = before;
}

void Engine::poll_clock_readers() {
  if (!is_poll_due()) return;
  next_poll_ = now_ + kPollInterval;
  wake_clock_readers();
}

void Engine::run_quantum(simt::Warp& warp) {
  if (timed_) {
    if (options_.time_keeper) options_.time_keeper->account(warp);
    now_ = std::max(now_, warp.clock.now);
  }
  running_ = faulting_ = &warp;
  uint64_t executed = 0;
  try {
    const simt::Stop stop = warp.run(std::min(policy_->quantum(), options_.budget - worked()), executed);
    GridRun& run = run_of(warp.block());
    const Time spent = executed * issue_time(gpus_[run.gpu], warp);
    // Otherwise its spans have moved it.
    if (run.grid.program->spans.empty()) warp.clock.now += spent;
    if (!timed_) now_ += spent;
    instructions_ += executed;
    run.instructions += executed;
    if (run.instructions > kLongRunning && stop != simt::Stop::finished)
      ++run.quanta_at[warp.splits().front().ip->origin];
    if (stop == simt::Stop::finished || !warp.polls()) {
      polls_.note_progress();
    } else {
      polls_.note_warp(executed, warp.poll_watch().take_stir());
    }
    schedule_hash_ = mix(schedule_hash_, {run.gpu, run.grid.id, warp.block().index(), warp.index(), executed});
    policy_->on_quantum_end(warp, executed, stop);
    if (stop == simt::Stop::quantum) policy_->push(warp);
    if (stop == simt::Stop::finished) finish_warp(run, warp);
    running_ = nullptr;
  } catch (const simt::Trap& trap) {
    instructions_ += executed;
    running_ = nullptr;
    fault(*faulting_, trap);
  }
}

void Engine::finish_warp(GridRun& run, simt::Warp& warp) {
  idle_jump_ = 0;
  if (run.listener) run.listener->on_warp_exit(warp);
  if (!warp.block().finished()) return;
  const uint32_t gpu = run.gpu;
  // Not the engine's time: warps of other blocks may be far behind.
  const auto before = std::exchange(acting_at_, timed_ ? std::optional(warp.clock.now) : std::nullopt);
  running_ = nullptr;
  retire(warp.block());
  policy_->on_room(*this, gpu);
  acting_at_ = before;
}

void Engine::fault(simt::Warp& warp, const simt::Trap& trap) {
  GridRun& run = run_of(warp.block());
  Outcome outcome;
  outcome.ending = Ending::fault;
  outcome.fault = make_fault(warp, trap);
  outcome.instructions = run.instructions;
  run.end = std::max(run.end, warp.clock.now);
  end(run, std::move(outcome));
}

// A warp alone issues an instruction every few cycles; many of them share the SM's schedulers.
Time Engine::issue_time(const Gpu& gpu, const simt::Warp& warp) const {
  const uint32_t warps = gpu.slots.threads_on(warp.block().sm) / simt::kLanes;
  return std::max<Time>(gpu.cycle * gpu.cycles_per_instruction, gpu.cycle * warps / gpu.schedulers);
}

// For the environments of blocks

void Engine::make_ready(simt::Warp& warp, simt::Environment::Cause cause) {
  idle_jump_ = 0;
  Time from = acting_time();
  if (cause == simt::Environment::Cause::memory && running_ && options_.time_keeper)
    from = std::max(from, options_.time_keeper->last_arrival());
  // The running warp schedules its own splits; a queued entry would outlive its block.
  if (&warp == running_) return;
  if (!warp.queued) move_clock(warp, from);
  policy_->push(warp);
}

void Engine::move_clock(simt::Warp& warp, Time to) const {
  if (to <= warp.clock.now) return;
  if (options_.time_keeper) options_.time_keeper->account(warp);
  warp.clock.now = warp.clock.tracked_until = to;
}

void Engine::start(simt::AsyncCopy copy) {
  copy.number = next_copy_++;
  copies_.push_back(std::make_unique<simt::AsyncCopy>(std::move(copy)));
  policy_->on_copy(*this, *copies_.back());
}

void Engine::perform_copy(size_t k) {
  policy_->on_event_or_copy();
  polls_.note_progress();
  try {
    complete_copy(k);
  } catch (const simt::Trap& trap) {
    fault(*faulting_, trap);
  }
}

void Engine::perform_on_arrival(const simt::AsyncCopy& copy) {
  const Time arrival = options_.time_keeper ? options_.time_keeper->arrival_of(copy) : copy.warp->clock.now;
  schedule(arrival, 0, [this, number = copy.number] {
    const auto found = std::ranges::lower_bound(copies_, number, {}, [](const auto& c) { return c->number; });
    if (found != copies_.end() && (*found)->number == number)
      perform_copy(static_cast<size_t>(found - copies_.begin()));
  });
}

void Engine::complete_copy(size_t k) {
  const auto copy = std::move(copies_[k]);
  copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(k));
  faulting_ = copy->warp;
  simt::complete(*copy);
}

void Engine::settle_clock() {
  if (running_ && running_->listener()) running_->listener()->on_units(*running_);
}

uint64_t Engine::cycles() {
  if (!timed_) return (now_ + ++clock_reads_ * kDefaultCycle) / kDefaultCycle;
  settle_clock();
  const Time cycle = running_ ? gpus_[running_->block().device].cycle : kDefaultCycle;
  return acting_time() / cycle;
}

uint64_t Engine::nanoseconds() {
  if (!timed_) return cycles() * kDefaultCycle / 1000;
  settle_clock();
  return acting_time() / 1000;
}

void Engine::forget(const simt::Environment& environment) {
  simt::Warp* running = running_;
  while (!copies_.empty()) complete_copy(0);
  faulting_ = running;
  for (const auto& run : runs_) {
    if (run->environment != &environment) continue;
    for (const auto& block : run->blocks) {
      for (const auto& warp : block->warps()) warp->forget_reads();
    }
  }
}

void Engine::recheck_watches() {
  for_each_warp([](simt::Warp& warp) { warp.look_again(); });
}

bool Engine::pass_time() {
  if (out_of_budget()) return false;
  if (const auto next = policy_->next_event()) {
    now_ = std::max(now_, *next);
    wait_until_now();
    return true;
  }
  const auto reads_clock = [](const auto& block) {
    return std::ranges::any_of(block->warps(), [](const auto& w) { return w->reads_clock_asleep(); });
  };
  const bool any =
      std::ranges::any_of(runs_, [&](const auto& run) { return std::ranges::any_of(run->blocks, reads_clock); });
  if (!any || idle_jump_ >= kLongestJump) return false;
  const Time jump = idle_jump_ == 0 ? kFirstJump : idle_jump_ * 2;
  now_ += jump;
  wake_clock_readers();
  idle_jump_ = jump;
  wait_until_now();
  return policy_->has_ready_warp();
}

void Engine::wake_clock_readers() {
  for_each_warp([](simt::Warp& warp) { warp.wake_clock_readers(); });
}

// Polling

// Loops that poll go on at the engine's time.
void Engine::wait_until_now() {
  for_each_warp([&](simt::Warp& warp) {
    if (warp.polls()) move_clock(warp, now_);
  });
  polls_.note_time(resident_warps());
}

uint64_t Engine::resident_warps() const {
  uint64_t warps = 0;
  for (const auto& run : runs_) {
    if (!run->blocks.empty()) warps += run->blocks.size() * run->blocks.front()->warps().size();
  }
  return warps;
}

bool Engine::take_only_polls() {
  if (!polls_.is_report_due() || !polls_.take_report(resident_warps())) return false;
  policy_->on_only_polls();
  return true;
}

void Engine::sleep_on_polls() {
  for_each_warp([](simt::Warp& warp) { warp.sleep_on_polls(); });
}

}  // namespace fb::machine
