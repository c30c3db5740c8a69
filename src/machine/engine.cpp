#include "machine/engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "machine/places.h"

namespace fb::machine {
namespace {

constexpr Time kMicrosecond = 1'000'000;
constexpr Time kFirstLeap = kMicrosecond / 2;
constexpr Time kLongestLeap = uint64_t{1} << 53;  // hours: no sane time-out is longer
constexpr size_t kMostCopiesInFlight = 64;
constexpr Time kLookAgain = 150 * kMicrosecond;  // until blocks, copies and clocks get their turn
constexpr Time kAsyncLatency = 600'000;          // of a copy about which no listener has said anything

}  // namespace

Engine::Engine(const EngineOptions& options)
    : options_(options), queue_(options.order, options.seed), choices_(options.choices) {
  next_look_ = kLookAgain;
}
Engine::~Engine() = default;

uint32_t Engine::add_gpu(const DeviceLimits& limits, Time cycle, uint32_t cycles_per_instruction, uint32_t schedulers) {
  gpus_.push_back({limits, SmSlots(limits), cycle, cycles_per_instruction, schedulers, 0});
  return static_cast<uint32_t>(gpus_.size() - 1);
}

// --- Grids and blocks
// -------------------------------------------------------------------------------------------------

GridRun& Engine::launch(std::unique_ptr<GridRun> launched) {
  GridRun& run = *launched;
  FB_CHECK(run.gpu < gpus_.size() && run.grid.grid.count() != 0);
  run.needs = needs_of(run.grid, gpus_[run.gpu].limits);
  use(run.gpu, runs_.empty());
  runs_.push_back(std::move(launched));
  ++gpus_[run.gpu].waiting;
  leap_ = 0;
  if (options_.order == Order::by_time) start_all(run.gpu);
  return run;
}

GridRun& Engine::run_of(const simt::Block& block) {
  const auto found = std::ranges::find_if(runs_, [&](const auto& r) { return &r->grid == &block.grid(); });
  FB_CHECK(found != runs_.end());
  return **found;
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

void Engine::start_all(uint32_t gpu) {
  while (start_next(gpu)) {
  }
}

bool Engine::start_some() {
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
  simt::Cluster* cluster = nullptr;
  if (grid.explicit_cluster) cluster = run.clusters.emplace_back(std::make_unique<simt::Cluster>()).get();
  // Clusters are numbered along x, y, z; inside one the blocks too.
  const uint64_t c = run.next_block / together;
  const uint64_t across_x = grid.grid.x / grid.cluster.x, across_y = grid.grid.y / grid.cluster.y;
  const uint64_t cx = c % across_x, cy = c / across_x % across_y, cz = c / across_x / across_y;
  const Time begins = std::max(run.start, acting_time());
  for (uint64_t rank = 0; rank < together; ++rank) {
    const uint64_t x = cx * grid.cluster.x + rank % grid.cluster.x;
    const uint64_t y = cy * grid.cluster.y + rank / grid.cluster.x % grid.cluster.y;
    const uint64_t z = cz * grid.cluster.z + rank / grid.cluster.x / grid.cluster.y;
    const uint64_t index = (z * grid.grid.y + y) * grid.grid.x + x;
    auto block = std::make_unique<simt::Block>(grid, index, *run.environment, run.listener);
    block->sm = sms[rank];
    block->device = run.gpu;
    block->cluster = cluster;
    block->rank_in_cluster = static_cast<uint32_t>(rank);
    block->place = static_cast<uint32_t>(run.blocks.size());
    if (cluster) cluster->blocks.push_back(block.get());
    for (const auto& warp : block->warps()) {
      warp->clock.now = warp->clock.loads = warp->clock.stores = begins;
      if (run.listener) run.listener->on_warp_start(*warp);
      queue_.push(*warp);
    }
    run.blocks.push_back(std::move(block));
  }
  run.next_block += together;
  if (run.next_block >= grid.grid.count()) --gpu.waiting;
  return true;
}

namespace {

void take_out(std::vector<std::unique_ptr<simt::Block>>& blocks, uint32_t place) {
  if (place + 1 != blocks.size()) {
    blocks[place] = std::move(blocks.back());
    blocks[place]->place = place;
  }
  blocks.pop_back();
}

}  // namespace

// A block has exited. Its memory stays until no copy and no block of its cluster can touch it any more.
void Engine::retire(simt::Block& ended) {
  for (size_t k = 0; k < copies_.size();) {
    if (copies_[k].block == &ended || copies_[k].other == &ended) {
      complete_copy(k);
    } else {
      ++k;
    }
  }
  GridRun& run = run_of(ended);
  ++run.finished_blocks;
  gpus_[run.gpu].slots.give_back(ended.sm, run.needs);
  for (const auto& warp : ended.warps()) {
    run.end = std::max({run.end, warp->clock.now, warp->clock.loads, warp->clock.stores});
  }
  if (simt::Cluster* cluster = ended.cluster) {
    if (std::ranges::all_of(cluster->blocks, [](const simt::Block* b) { return b->finished(); })) {
      for (simt::Block* block : std::vector(cluster->blocks)) take_out(run.blocks, block->place);
      std::erase_if(run.clusters, [&](const auto& c) { return c.get() == cluster; });
    }
  } else {
    take_out(run.blocks, ended.place);
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
  if (options_.order == Order::by_time) start_all(gpu);
  if (on_end) on_end(*kept, std::move(outcome));
}

// Takes a grid off its GPU: after a fault warps sleep and copies are in flight.
void Engine::remove(GridRun& run) {
  if (current_ && &current_->block().grid() == &run.grid) current_ = nullptr;
  queue_.remove(run.grid);
  const auto of_run = [&](const simt::AsyncCopy& c) { return &c.block->grid() == &run.grid; };
  std::erase_if(copies_, of_run);
  for (const auto& block : run.blocks) {
    for (const auto& warp : block->warps()) warp->forget_reads();
    if (!block->finished()) gpus_[run.gpu].slots.give_back(block->sm, run.needs);
  }
  queue_.remove(run.grid);  // forgetting woke them
  if (run.next_block < run.grid.grid.count()) {
    run.next_block = run.grid.grid.count();
    --gpus_[run.gpu].waiting;
  }
  run.blocks.clear();
  run.clusters.clear();
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
  if (options_.order != Order::by_time) return;
  for (uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) start_all(gpu);
}

// --- What happens next
// ------------------------------------------------------------------------------------------------

Engine::Line Engine::line_of(const EventAbout& about) const {
  if (options_.order == Order::random)
    return about.device != kNoDevice && about.device == queue_.slow_device() ? kSlow : kMain;
  if (options_.order != Order::chosen || about.kind == EventAbout::Kind::bookkeeping) return kMain;
  return about.kind == EventAbout::Kind::memory ? kMemory : kPolls;
}

// A device is at work. Where another one is slow from now on, events change lines.
void Engine::use(uint32_t device, bool nobody_works) {
  const uint32_t before = queue_.slow_device();
  queue_.use(device, nobody_works);
  if (queue_.slow_device() == before) return;
  Events all = std::exchange(events_[kMain], {});
  std::ranges::move(std::exchange(events_[kSlow], {}), std::back_inserter(all));
  for (Event& event : all) events_[line_of({EventAbout::Kind::bookkeeping, event.device})].push_back(std::move(event));
  for (const Line line : {kMain, kSlow}) std::make_heap(events_[line].begin(), events_[line].end());
}

void Engine::schedule(Time at, uint64_t tie, std::function<void()> what, EventAbout about) {
  Events& line = events_[line_of(about)];
  line.push_back({at, tie, next_event_++, about.device, std::move(what)});
  std::push_heap(line.begin(), line.end());
}

bool Engine::run_event(Line line) {
  Events& events = events_[line];
  std::pop_heap(events.begin(), events.end());
  Event event = std::move(events.back());
  events.pop_back();
  return happen(event);
}

bool Engine::happen(const Event& event) {
  // Here, not when it was scheduled: the order in which hosts ask for work is a matter of real time.
  if (event.device != kNoDevice) use(event.device, false);
  now_ = std::max(now_, event.at);
  queue_.note_other();
  event.what();
  return true;
}

bool Engine::step() {
  if (out_of_budget()) return false;
  switch (options_.order) {
    case Order::by_time:
      return step_by_time();
    case Order::chosen:
      return step_as_chosen();
    case Order::first_come:
    case Order::random:
      return step_in_turn();
  }
  return false;
}

// True, now and then: those who poll must make room for others, and those who wait for time to pass look at the clock.
bool Engine::look_now_and_then() {
  if (now_ < next_look_) return false;
  next_look_ = now_ + kLookAgain;
  wake_clock_readers();
  return true;
}

bool Engine::step_by_time() {
  look_now_and_then();
  const Events& events = events_[kMain];
  if (!events.empty() && (queue_.empty() || events.front().at <= queue_.next_time())) return run_event();
  return run_warp();
}

// In order of arrival, new blocks, copies and events come in when nothing else can run, and now and then, because
// warps that poll with a counter never stop; at random, in between, and often several blocks at once, so that they
// meet.
bool Engine::step_in_turn() {
  const bool now_and_then = now_ >= next_look_;
  if (queue_.idle() || now_and_then) start_some();
  look_now_and_then();
  while (queue_.starts_block() && start_some()) {
  }
  const bool idle = queue_.idle();
  if (const auto line = next_line(idle); line && (idle || now_and_then || queue_.takes_event()))
    return run_event(*line);
  if (!copies_.empty() && (idle || now_and_then || copies_.size() > kMostCopiesInFlight || queue_.takes_copy())) {
    if (const auto copy = next_copy(idle)) return perform_copy(*copy);
  }
  return run_warp();
}

// From which line the next event comes. Those of the slow link come last, or now and then: somebody may ask for ever.
std::optional<Engine::Line> Engine::next_line(bool idle) {
  if (events_[kSlow].empty()) return events_[kMain].empty() ? std::nullopt : std::optional(kMain);
  if (events_[kMain].empty()) return idle || queue_.takes_slow() ? std::optional(kSlow) : std::nullopt;
  return queue_.takes_slow() ? kSlow : kMain;
}

std::optional<size_t> Engine::next_copy(bool idle) {
  const size_t drawn = queue_.choose(copies_.size());
  const uint32_t slow = queue_.slow_device();
  const auto is_slow = [&](const simt::AsyncCopy& c) { return c.block->device == slow; };
  if (slow == kNoDevice || !is_slow(copies_[drawn]) || queue_.takes_slow()) return drawn;
  const auto other = std::ranges::find_if_not(copies_, is_slow);
  if (other != copies_.end()) return static_cast<size_t>(other - copies_.begin());
  return idle || copies_.size() > kMostCopiesInFlight ? std::optional(drawn) : std::nullopt;
}

bool Engine::perform_copy(size_t k) {
  queue_.note_other();
  try {
    complete_copy(k);
  } catch (const simt::Trap& trap) {
    fault(*faulting_, trap);
  }
  return true;
}

bool Engine::run_warp() { return !queue_.empty() && run_warp(queue_.pop()); }

bool Engine::run_warp(simt::Warp& warp) {
  if (options_.order == Order::by_time) now_ = std::max(now_, warp.clock.now);
  running_ = faulting_ = &warp;
  uint64_t executed = 0;
  try {
    const simt::Stop stop = warp.run(std::min(queue_.quantum(), options_.budget - instructions_), executed);
    GridRun& run = run_of(warp.block());
    const Time spent = executed * issue_time(gpus_[run.gpu], warp);
    warp.clock.now += spent;
    if (options_.order != Order::by_time) now_ += spent;
    instructions_ += executed;
    run.instructions += executed;
    course_ = mix(course_, {run.gpu, run.grid.id, warp.block().index(), warp.index(), executed});
    queue_.note_turn(warp, executed, stop);
    note_stop(warp, stop);
    if (stop == simt::Stop::quantum) queue_.push(warp);
    if (stop == simt::Stop::finished) {
      leap_ = 0;
      if (run.listener) run.listener->on_warp_exit(warp);
      if (warp.block().finished()) {
        const uint32_t gpu = run.gpu;
        now_ = std::max(now_, std::min(warp.clock.now, now_ + kMicrosecond));
        running_ = nullptr;
        retire(warp.block());
        if (options_.order == Order::by_time) start_all(gpu);
      }
    }
    running_ = nullptr;
  } catch (const simt::Trap& trap) {
    instructions_ += executed;
    running_ = nullptr;
    fault(*faulting_, trap);
  }
  return true;
}

// --- As chosen
// --------------------------------------------------------------------------------------------------------

namespace {

// So many turns without anybody else, and others must come in: a loop that waits for them and does not look like it.
constexpr uint32_t kMostTurnsAlone = 1000;

}  // namespace

// A warp runs from one synchronisation step to the next; what touches no memory happens at once, since nobody can tell
// when it did.
bool Engine::step_as_chosen() {
  look_now_and_then();
  for (uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) start_all(gpu);
  if (!events_[kMain].empty()) return run_event();
  if (!events_[kPolls].empty() && events_[kPolls].front().at <= now_) return run_event(kPolls);
  if (current_ && !at_choice_) {
    queue_.take(*current_);
    return run_warp(*current_);
  }
  if (choose_next()) return true;
  return !events_[kPolls].empty() && run_event(kPolls);
}

// Who is next? First whoever ran last, where it can go on; then other warps, the next event of each device, the oldest
// copy of each block.
bool Engine::choose_next() {
  const bool goes_on = current_ && turns_of_current_ < kMostTurnsAlone;
  std::vector<std::function<void()>> options;
  const auto add_warp = [&](simt::Warp& warp) {
    options.emplace_back([this, &warp] {
      if (&warp != current_) queue_.steps.forget_poll();
      if (&warp != current_ || turns_of_current_ >= kMostTurnsAlone) turns_of_current_ = 0;
      current_ = &warp;
      queue_.take(warp);
      run_warp(warp);
    });
  };
  if (goes_on) add_warp(*current_);
  for (simt::Warp* warp : queue_.in_order()) {
    if (warp != current_) add_warp(*warp);
  }
  add_events(options);
  std::vector<const simt::Block*> issuers;
  for (size_t k = 0; k < copies_.size(); ++k) {
    if (std::ranges::find(issuers, copies_[k].block) != issuers.end()) continue;
    issuers.push_back(copies_[k].block);
    options.emplace_back([this, k] {
      queue_.steps.forget_poll();
      perform_copy(k);
    });
  }
  if (options.empty() && current_) add_warp(*current_);
  if (options.empty()) return false;
  const bool alone = options.size() == 1;
  options[alone ? 0 : choices_.take(static_cast<uint32_t>(options.size()), goes_on)]();
  return true;
}

void Engine::add_events(std::vector<std::function<void()>>& options) {
  Events& events = events_[kMemory];
  std::ranges::sort(events, [](const Event& a, const Event& b) { return b < a; });  // the first one first: a heap, too
  std::vector<uint32_t> devices;
  for (size_t k = 0; k < events.size(); ++k) {
    if (std::ranges::find(devices, events[k].device) != devices.end()) continue;
    devices.push_back(events[k].device);
    options.emplace_back([this, k] {
      queue_.steps.forget_poll();
      const Event event = std::move(events_[kMemory][k]);
      events_[kMemory].erase(events_[kMemory].begin() + static_cast<std::ptrdiff_t>(k));
      happen(event);
    });
  }
}

void Engine::note_stop(const simt::Warp& warp, simt::Stop stop) {
  if (options_.order != Order::chosen) return;
  const bool at_step = queue_.steps.take_due();
  if (stop != simt::Stop::quantum) {
    current_ = nullptr;
    at_choice_ = true;
    return;
  }
  ++turns_of_current_;
  // Who stops at a step at which it must wait is run once more, to find that out.
  const bool can_run =
      std::ranges::any_of(warp.splits(), [](const simt::Split& s) { return s.state == simt::SplitState::ready; });
  at_choice_ = (at_step && can_run) || turns_of_current_ >= kMostTurnsAlone;
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

// --- For the environments of blocks
// -----------------------------------------------------------------------------------

void Engine::make_ready(simt::Warp& warp, simt::Environment::Cause cause) {
  leap_ = 0;
  Time from = acting_time();
  if (cause == simt::Environment::Cause::memory && running_ && options_.time_keeper)
    from = std::max(from, options_.time_keeper->last_arrival());
  // The running warp looks after its own splits; in the queue it would be found there after its block has gone.
  if (&warp == running_) return;
  if (!warp.queued) warp.clock.now = std::max(warp.clock.now, from);
  queue_.push(warp);
}

void Engine::start(simt::AsyncCopy copy) {
  if (options_.order != Order::by_time) {
    copies_.push_back(std::move(copy));
    return;
  }
  // The copy stays in `copies_`, where a retiring block or a fault finds it; the event completes it if it is still
  // there.
  Time at = copy.warp->clock.now + kAsyncLatency;
  if (options_.time_keeper) at = std::max(at, options_.time_keeper->last_arrival());
  const simt::Block* block = copy.block;
  const uint64_t sequence = copy.sequence;
  copies_.push_back(std::move(copy));
  schedule(at, 0, [this, block, sequence] {
    const auto found = std::ranges::find_if(
        copies_, [&](const simt::AsyncCopy& c) { return c.block == block && c.sequence == sequence; });
    if (found == copies_.end()) return;
    try {
      complete_copy(static_cast<size_t>(found - copies_.begin()));
    } catch (const simt::Trap& trap) {
      fault(*faulting_, trap);
    }
  });
}

void Engine::complete_copy(size_t k) {
  const simt::AsyncCopy copy = std::move(copies_[k]);
  copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(k));
  faulting_ = copy.warp;
  simt::complete(copy);
}

uint64_t Engine::cycles() {
  if (options_.order != Order::by_time) return (now_ + ++ticks_ * 570) / 570;
  const Time cycle = running_ ? gpus_[running_->block().device].cycle : 570;
  return acting_time() / cycle;
}

uint64_t Engine::nanoseconds() {
  if (options_.order != Order::by_time) return cycles() * 570 / 1000;
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

void Engine::look_again() {
  for (const auto& run : runs_) {
    for (const auto& block : run->blocks) {
      for (const auto& warp : block->warps()) warp->look_again();
    }
  }
}

bool Engine::pass_time() {
  const auto reads_clock = [](const auto& block) {
    return std::ranges::any_of(block->warps(), [](const auto& w) { return w->reads_clock_asleep(); });
  };
  const bool anybody =
      std::ranges::any_of(runs_, [&](const auto& run) { return std::ranges::any_of(run->blocks, reads_clock); });
  if (!anybody || leap_ >= kLongestLeap) return false;
  const Time leap = leap_ == 0 ? kFirstLeap : leap_ * 2;
  now_ += leap;
  wake_clock_readers();
  leap_ = leap;
  return !queue_.empty();
}

void Engine::wake_clock_readers() {
  for (const auto& run : runs_) {
    for (const auto& block : run->blocks) {
      for (const auto& warp : block->warps()) warp->wake_clock_readers();
    }
  }
}

}  // namespace fb::machine
