#pragma once

#include <cstdint>
#include <memory>

#include "virtual_node/machine/process/operation.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/simt/calls/device_runtime.h"

namespace fb::machine {

// What streams ask of the work that kernels enqueue themselves (device_launches.h).
class DeviceRuntimes {
 public:
  // What kernels of the process on this device may call; null in judged runs.
  virtual std::unique_ptr<simt::DeviceRuntime> runtime_for(Process& process, uint32_t device) = 0;

  virtual void begin_grid(uint64_t grid, const OperationPtr& op) = 0;
  // All blocks have ended, at `at`. False: nothing that the grid has launched is left, and its operation ends now.
  virtual bool end_grid(uint64_t grid, Time at) = 0;

 protected:
  ~DeviceRuntimes() = default;
};

}  // namespace fb::machine
