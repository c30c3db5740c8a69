#pragma once

// The request of a launch, and its checks against a device.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "virtual_node/machine/engine/device_limits.h"
#include "virtual_node/machine/engine/loaded_module.h"
#include "virtual_node/simt/block.h"

namespace fb::machine {

struct LaunchRequest {
  std::string kernel;
  bool of_driver = false;  // the kernel is the driver's (common/ptx/link/link.h)
  simt::Dim3 grid, block;
  simt::Dim3 cluster;  // {1,1,1}: no cluster, unless the kernel was compiled with one
  uint64_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> params;  // the parameter block, laid out as FunctionInfo::param_offsets says
};

struct LaunchProblem {
  enum class Kind : uint8_t {
    no_kernel,
    configuration,  // dimensions that no device takes
    resources,      // more than a multiprocessor has
    shared_memory,
    cluster,
    params,
    cooperative,  // not all blocks fit at once
  };
  Kind kind{};
  std::string message;
};

// The grid, complete except for its workspace and id.
std::expected<simt::Grid, LaunchProblem> make_grid(const LoadedModule& module, const LaunchRequest& request,
                                                   const DeviceLimits& limits);

}  // namespace fb::machine
