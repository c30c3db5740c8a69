#pragma once

// One virtual GPU: memory, modules, and launches that run to their end. Single-threaded and deterministic: the same
// calls with the same seed give the same bytes, on every machine.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/result.h"
#include "virtual_node/machine/engine/device_limits.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/engine/launch.h"
#include "virtual_node/machine/engine/loaded_module.h"
#include "virtual_node/machine/engine/outcome.h"
#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/environment.h"

namespace fb::machine {

struct DeviceRunOptions {
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

  // Wrong requests (no such kernel, block too large, …) are errors; faults and deadlocks of the guest are outcomes.
  Result<Outcome> run(const LoadedModule& module, const LaunchRequest& request, const DeviceRunOptions& options = {});

  // What guests have printed since the last call.
  std::string take_output();

 private:
  // simt::Environment
  mem::AddressSpace& global() override { return memory_; }
  simt::Watch& watch() override { return engine_->watch(); }
  void make_ready(simt::Warp& warp, Cause cause) override { engine_->make_ready(warp, cause); }
  void print(std::string_view text) override;
  uint64_t cycles() override { return engine_->cycles(); }
  uint64_t nanoseconds() override { return engine_->nanoseconds(); }
  void start(simt::AsyncCopy copy) override { engine_->start(std::move(copy)); }
  mem::Address heap_allocate(uint64_t bytes) override;
  bool heap_release(mem::Address a) override;

  DeviceLimits limits_;
  mem::AddressSpace memory_;
  std::vector<std::unique_ptr<LoadedModule>> modules_;
  std::unordered_map<mem::Address, uint64_t> heap_;  // malloc in kernels: address → bytes
  uint64_t heap_used_ = 0;
  uint64_t memory_used_ = 0;
  uint32_t next_allocation_ = 1;
  uint64_t next_grid_ = 1;
  std::string output_;

  std::optional<Engine> engine_;  // of the launch that runs, or ran last
};

}  // namespace fb::machine
