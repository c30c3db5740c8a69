#include "machine/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "machine/places.h"

namespace fb::machine {
namespace {

constexpr uint64_t kFirstLeap = 1000;
constexpr uint64_t kLongestLeap = uint64_t{1} << 44;  // hours: no sane time-out is longer
constexpr size_t kMostWaiters = 16;
constexpr size_t kMostCopiesInFlight = 64;
constexpr uint64_t kWorkspaceBytes = 256;
constexpr uint64_t kLookAgain = 1 << 18;  // cycles until blocks, copies and clocks get their turn
constexpr size_t kMostOutput = 64 << 20;

}  // namespace

Device::Device(DeviceLimits limits) : limits_(limits), slots_(limits) {}
Device::~Device() = default;

// --- Memory
// -----------------------------------------------------------------------------------------------------------

mem::Address Device::allocate(uint64_t bytes, std::string label) {
  if (bytes > limits_.memory - memory_used_) return 0;
  const mem::Address a = memory_.reserve(bytes, 256);
  memory_.map(a, mem::allocate(next_allocation_++, 0, bytes, std::move(label)));
  memory_used_ += bytes;
  return a;
}

bool Device::release(mem::Address a) {
  const mem::Window* w = memory_.find(a);
  if (!w || w->begin != a) return false;
  memory_used_ -= w->size;
  return memory_.unmap(a);
}

std::byte* Device::bytes(mem::Address a, uint64_t size) {
  const mem::Window* w = memory_.find(a);
  return w && w->contains(a, size) ? w->host + (a - w->begin) : nullptr;
}

mem::Address Device::heap_allocate(uint64_t bytes) {
  // Small ones cost a page on the host as well.
  const uint64_t charged = std::max<uint64_t>(bytes, 4096);
  if (bytes == 0 || charged > limits_.heap - heap_used_) return 0;
  const mem::Address a = allocate(bytes, "malloc");
  if (a == 0) return 0;
  heap_[a] = charged;
  heap_used_ += charged;
  return a;
}

bool Device::heap_release(mem::Address a) {
  const auto found = heap_.find(a);
  if (found == heap_.end()) return false;
  // Nobody may still hold the bytes: neither a copy in flight nor a loop that waits for them to change.
  while (!copies_.empty()) complete_copy(0);
  faulting_ = running_;
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps()) warp->forget_reads();
  }
  heap_used_ -= found->second;
  heap_.erase(found);
  return release(a);
}

Result<LoadedModule*> Device::load(std::string_view text, const LoadOptions& options) {
  auto loaded = LoadedModule::load(text, options, [&](const ptx::Variable& v) -> LoadedModule::Placed {
    if (v.bytes > limits_.memory - memory_used_) return {};
    const bool constant = v.space == ptx::Space::constant;
    const mem::Address a = constant ? memory_.reserve_constant(v.bytes, v.align) : memory_.reserve(v.bytes, v.align);
    if (a == 0) return {};
    const mem::Window& w = memory_.map(a, mem::allocate(next_allocation_++, 0, v.bytes, "variable " + v.name));
    memory_used_ += v.bytes;
    return {a, w.host};
  });
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  modules_.push_back(std::move(*loaded));
  return modules_.back().get();
}

// --- Output and time
// --------------------------------------------------------------------------------------------------

void Device::print(std::string_view text) {
  if (output_.size() + text.size() <= kMostOutput) output_ += text;
}

std::string Device::take_output() { return std::exchange(output_, {}); }

// The clock of an H100 at 1.755 GHz.
uint64_t Device::nanoseconds() { return static_cast<uint64_t>(static_cast<unsigned __int128>(cycles()) * 1000 / 1755); }

// Everybody waits, some of them for time to pass: let it pass. False if nobody does, or it does not help.
bool Device::pass_time() {
  if (leap_ >= kLongestLeap) return false;
  const uint64_t leap = leap_ == 0 ? kFirstLeap : leap_ * 2;
  now_ += leap;
  wake_clock_readers();
  leap_ = leap;
  return !queue_.empty();
}

void Device::wake_clock_readers() {
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps()) warp->wake_clock_readers();
  }
}

// --- Launching
// --------------------------------------------------------------------------------------------------------

Result<simt::Grid> Device::make_grid(const LoadedModule& module, const LaunchRequest& request,
                                     const RunOptions& options) {
  const simt::FunctionInfo* kernel = module.program().find(request.kernel);
  if (!kernel || !kernel->source->entry) return error(fmt::format("there is no kernel {}", request.kernel));
  simt::Grid grid;
  grid.program = &module.program();
  grid.kernel = kernel;
  grid.grid = request.grid;
  grid.block = request.block;
  grid.cluster = request.cluster;
  const ptx::LaunchBounds& bounds = kernel->source->bounds;
  if (bounds.cluster[0] != 0) {
    grid.cluster = {bounds.cluster[0], std::max(bounds.cluster[1], 1u), std::max(bounds.cluster[2], 1u)};
    grid.explicit_cluster = true;
  }
  grid.explicit_cluster |= grid.cluster.count() > 1;
  if (grid.grid.count() == 0 || grid.block.count() == 0 || grid.cluster.count() == 0) {
    return error("a grid, a block and a cluster need at least one thread");
  }
  if (grid.grid.x > INT32_MAX || grid.grid.y > UINT16_MAX || grid.grid.z > UINT16_MAX || grid.block.x > 1024 ||
      grid.block.y > 1024 || grid.block.z > 64 || grid.cluster.x > 64 || grid.cluster.y > 64 || grid.cluster.z > 64) {
    return error("a dimension of the grid, block or cluster is larger than any device takes");
  }
  uint64_t most_threads = limits_.threads_per_block;
  if (bounds.max_threads[0] != 0) {
    most_threads =
        uint64_t{bounds.max_threads[0]} * std::max(bounds.max_threads[1], 1u) * std::max(bounds.max_threads[2], 1u);
  }
  if (grid.block.count() > std::min<uint64_t>(most_threads, limits_.threads_per_block)) {
    return error(fmt::format("{} threads in a block; {} takes at most {}", grid.block.count(), kernel->name,
                             std::min<uint64_t>(most_threads, limits_.threads_per_block)));
  }
  if (request.dynamic_shared_bytes > limits_.shared_per_block ||
      uint64_t{kernel->static_shared_bytes} + request.dynamic_shared_bytes > limits_.shared_per_block) {
    return error(fmt::format("{} bytes of shared memory; a block has at most {}",
                             uint64_t{kernel->static_shared_bytes} + request.dynamic_shared_bytes,
                             limits_.shared_per_block));
  }
  if (grid.cluster.count() > limits_.blocks_per_cluster) {
    return error(fmt::format("{} blocks in a cluster; at most {} are possible", grid.cluster.count(),
                             limits_.blocks_per_cluster));
  }
  if (grid.grid.x % grid.cluster.x != 0 || grid.grid.y % grid.cluster.y != 0 || grid.grid.z % grid.cluster.z != 0) {
    return error("the grid is not a multiple of the cluster");
  }
  if (request.params.size() != kernel->param_bytes) {
    return error(fmt::format("{} takes {} bytes of parameters, not {}", kernel->name, kernel->param_bytes,
                             request.params.size()));
  }
  grid.dynamic_shared_bytes = request.dynamic_shared_bytes;
  grid.params = request.params;
  grid.cooperative = request.cooperative;
  grid.check_uninitialised_shared = options.check_uninitialised_shared;
  grid.id = next_grid_++;
  if (grid.cooperative) {
    const uint64_t capacity = slots_.capacity(needs_of(grid, limits_));
    if (grid.grid.count() > capacity) {
      return error(fmt::format("{} blocks can't be resident together, as a cooperative launch needs: at most {}",
                               grid.grid.count(), capacity));
    }
  }
  return grid;
}

Result<Outcome> Device::run(const LoadedModule& module, const LaunchRequest& request, const RunOptions& options) {
  auto grid = make_grid(module, request, options);
  if (!grid) return std::unexpected(std::move(grid.error()));
  if (grid->cooperative) grid->workspace = allocate(kWorkspaceBytes, "grid workspace");
  queue_ = RunQueue(options.seed);
  needs_ = needs_of(*grid, limits_);
  slots_ = SmSlots(limits_);
  next_block_ = finished_blocks_ = leap_ = 0;
  next_look_ = now_ + kLookAgain;
  Outcome outcome;
  try {
    run_grid(*grid, options, outcome);
  } catch (...) {  // no memory: the launch goes, the device stays
    abandon();
    throw;
  }
  abandon();
  if (grid->workspace != 0) release(grid->workspace);
  return outcome;
}

void Device::run_grid(const simt::Grid& grid, const RunOptions& options, Outcome& outcome) {
  try {
    while (finished_blocks_ < grid.grid.count()) {
      // Without a seed, new blocks and copies come in when nothing else can run, and now and then, because warps that
      // poll with a counter never stop; with one, in between at random, and often several blocks at once, so that
      // they meet. Those who wait for time to pass look at the clock now and then, too.
      const bool now_and_then = now_ >= next_look_;
      if (queue_.empty() || now_and_then) start_blocks(grid, options);
      if (now_and_then) {
        next_look_ = now_ + kLookAgain;
        wake_clock_readers();
      }
      while (queue_.choose(4) >= 2 && start_blocks(grid, options)) {
      }
      if (!copies_.empty() &&
          (queue_.empty() || now_and_then || copies_.size() > kMostCopiesInFlight || queue_.choose(4) == 1)) {
        complete_copy(queue_.choose(copies_.size()));
        continue;
      }
      if (queue_.empty()) {
        if (pass_time()) continue;
        outcome.ending = Ending::deadlock;
        outcome.deadlock = explain_deadlock(grid);
        return;
      }
      simt::Warp* running = running_ = faulting_ = &queue_.pop();
      uint64_t executed = 0;
      const uint64_t left = options.budget - outcome.instructions;
      const simt::Stop stop = running->run(std::min(queue_.quantum(), left), executed);
      running_ = nullptr;
      outcome.instructions += executed;
      now_ += executed;
      if (stop == simt::Stop::quantum) queue_.push(*running);
      if (stop == simt::Stop::finished) leap_ = 0;
      if (stop == simt::Stop::finished && running->block().finished()) retire(running->block());
      if (outcome.instructions >= options.budget) {
        outcome.ending = Ending::budget;
        return;
      }
    }
  } catch (const simt::Trap& trap) {
    outcome.ending = Ending::fault;
    outcome.fault = make_fault(*faulting_, trap);
  }
}

// Starts the next block, or the next cluster as a whole, if there is room.
bool Device::start_blocks(const simt::Grid& grid, const RunOptions& options) {
  const uint64_t together = grid.cluster.count();
  if (next_block_ >= grid.grid.count()) return false;
  std::vector<uint32_t> sms;
  for (uint64_t k = 0; k < together; ++k) {
    const auto sm = slots_.take(needs_);
    if (!sm) {
      for (uint32_t taken : sms) slots_.give_back(taken, needs_);
      return false;
    }
    sms.push_back(*sm);
  }
  simt::Cluster* cluster = nullptr;
  if (grid.explicit_cluster) {
    cluster = clusters_.emplace_back(std::make_unique<simt::Cluster>()).get();
  }
  // Clusters are numbered along x, y, z; inside one the blocks too.
  const uint64_t c = next_block_ / together;
  const uint64_t across_x = grid.grid.x / grid.cluster.x, across_y = grid.grid.y / grid.cluster.y;
  const uint64_t cx = c % across_x, cy = c / across_x % across_y, cz = c / across_x / across_y;
  for (uint64_t rank = 0; rank < together; ++rank) {
    const uint64_t x = cx * grid.cluster.x + rank % grid.cluster.x;
    const uint64_t y = cy * grid.cluster.y + rank / grid.cluster.x % grid.cluster.y;
    const uint64_t z = cz * grid.cluster.z + rank / grid.cluster.x / grid.cluster.y;
    const uint64_t index = (z * grid.grid.y + y) * grid.grid.x + x;
    simt::Environment& environment = *this;
    auto block = std::make_unique<simt::Block>(grid, index, environment, options.listener);
    block->sm = sms[rank];
    block->cluster = cluster;
    block->rank_in_cluster = static_cast<uint32_t>(rank);
    if (cluster) cluster->blocks.push_back(block.get());
    for (const auto& warp : block->warps()) {
      if (options.listener) options.listener->on_warp_start(*warp);
      queue_.push(*warp);
    }
    blocks_.push_back(std::move(block));
  }
  next_block_ += together;
  return true;
}

// A block has exited. Its memory stays until no copy and no block of its cluster can touch it any more.
void Device::retire(simt::Block& ended) {
  for (size_t k = 0; k < copies_.size();) {
    if (copies_[k].block == &ended || copies_[k].other == &ended) {
      complete_copy(k);
    } else {
      ++k;
    }
  }
  ++finished_blocks_;
  slots_.give_back(ended.sm, needs_);
  if (simt::Cluster* cluster = ended.cluster) {
    if (!std::ranges::all_of(cluster->blocks, [](const simt::Block* b) { return b->finished(); })) return;
    std::erase_if(blocks_, [&](const auto& b) { return b->cluster == cluster; });
    std::erase_if(clusters_, [&](const auto& c) { return c.get() == cluster; });
    return;
  }
  std::erase_if(blocks_, [&](const auto& b) { return b.get() == &ended; });
}

void Device::complete_copy(size_t k) {
  const simt::AsyncCopy copy = std::move(copies_[k]);
  copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(k));
  faulting_ = copy.warp;
  simt::complete(copy);
}

Deadlock Device::explain_deadlock(const simt::Grid& grid) const {
  Deadlock record;
  record.kernel = grid.kernel->name;
  record.finished_blocks = finished_blocks_;
  record.resident_blocks = blocks_.size();
  record.unstarted_blocks = grid.grid.count() - next_block_;
  for (const auto& block : blocks_) {
    for (const auto& warp : block->warps()) add_waiters(*warp, memory_, kMostWaiters, record);
  }
  return record;
}

// Drops whatever a launch left behind: after a fault warps sleep and copies are in flight.
void Device::abandon() {
  running_ = nullptr;
  copies_.clear();
  queue_.clear();
  blocks_.clear();
  clusters_.clear();
  watch_.clear();
}

}  // namespace fb::machine
