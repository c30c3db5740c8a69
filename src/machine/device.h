#pragma once

// One virtual GPU: memory, modules, and launches that run to their end. Single-threaded and deterministic: the same
// calls with the same seed give the same bytes, on every machine.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "machine/device_limits.h"
#include "machine/loaded_module.h"
#include "machine/outcome.h"
#include "machine/run_queue.h"
#include "machine/sm_slots.h"
#include "mem/address_space.h"
#include "simt/async.h"
#include "simt/block.h"
#include "simt/environment.h"

namespace fb::machine {

struct LaunchRequest {
  std::string kernel;
  simt::Dim3 grid, block;
  simt::Dim3 cluster;  // {1,1,1}: no cluster, unless the kernel was compiled with one
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> params;  // the parameter block, laid out as FunctionInfo::param_offsets says
};

struct RunOptions {
  uint64_t seed = 0;                 // the schedule; 0: the plain one
  uint64_t budget = 20'000'000'000;  // warp instructions
  bool check_uninitialised_shared = false;
  simt::Listener* listener = nullptr;  // needs a module loaded with LoadOptions::observed
};

class Device final : private simt::Environment {
 public:
  explicit Device(DeviceLimits limits = {});
  ~Device() override;

  const DeviceLimits& limits() const { return limits_; }

  // Memory. allocate() is 0 when the device is full.
  mem::Address allocate(uint64_t bytes, std::string label = "allocation");
  bool release(mem::Address a);
  // Host access; null where the range is not valid.
  std::byte* bytes(mem::Address a, uint64_t size);

  Result<LoadedModule*> load(std::string_view ptx, const LoadOptions& options = {});

  // Wrong requests (no such kernel, block too large, …) are errors; what the guest does is in the outcome.
  Result<Outcome> run(const LoadedModule& module, const LaunchRequest& request, const RunOptions& options = {});

  // What guests have printed since the last call.
  std::string take_output();

 private:
  // simt::Environment
  mem::AddressSpace& global() override { return memory_; }
  simt::Watch& watch() override { return watch_; }
  // The running warp looks after its own splits; in the queue it would be found there after its block has gone.
  void make_ready(simt::Warp& warp) override {
    leap_ = 0;
    if (&warp != running_) queue_.push(warp);
  }
  void print(std::string_view text) override;
  uint64_t cycles() override { return now_ + ++ticks_; }
  uint64_t nanoseconds() override;
  void start(simt::AsyncCopy copy) override { copies_.push_back(std::move(copy)); }
  mem::Address heap_allocate(uint64_t bytes) override;
  bool heap_release(mem::Address a) override;

  Result<simt::Grid> make_grid(const LoadedModule& module, const LaunchRequest& request, const RunOptions& options);
  void run_grid(const simt::Grid& grid, const RunOptions& options, Outcome& outcome);
  bool start_blocks(const simt::Grid& grid, const RunOptions& options);
  void retire(simt::Block& block);
  void complete_copy(size_t k);
  bool pass_time();
  void wake_clock_readers();
  Deadlock explain_deadlock(const simt::Grid& grid) const;
  void abandon();

  DeviceLimits limits_;
  mem::AddressSpace memory_;
  simt::Watch watch_;
  std::vector<std::unique_ptr<LoadedModule>> modules_;
  std::unordered_map<mem::Address, uint64_t> heap_;  // malloc in kernels: address → bytes
  uint64_t heap_used_ = 0;
  uint64_t memory_used_ = 0;
  uint32_t next_allocation_ = 1;
  uint64_t next_grid_ = 1;
  std::string output_;

  // The launch that runs.
  RunQueue queue_{0};
  SmSlots slots_;
  BlockNeeds needs_;
  std::vector<std::unique_ptr<simt::Block>> blocks_;  // resident
  std::vector<std::unique_ptr<simt::Cluster>> clusters_;
  std::deque<simt::AsyncCopy> copies_;
  simt::Warp* running_ = nullptr;
  simt::Warp* faulting_ = nullptr;  // on whose behalf the machine acts: its trap
  uint64_t next_look_ = 0;          // at the clock: when those who poll must make room
  uint64_t next_block_ = 0;
  uint64_t finished_blocks_ = 0;
  uint64_t now_ = 0;    // cycles
  uint64_t ticks_ = 0;  // reads of the clock: it never stands still
  uint64_t leap_ = 0;   // how far time jumped when everybody waited for it; 0 once anybody was woken by somebody
};

}  // namespace fb::machine
