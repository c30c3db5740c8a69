#pragma once

// Whatever text comes in: load it, and if it loads, launch every kernel briefly with a buffer for each parameter, on
// both engines. Guests may fault, hang or run away; the machine must not.

#include <cstring>
#include <string_view>

#include "virtual_node/machine/device/device.h"

namespace fb::fuzz {

inline void launch_all(machine::Device& device, const machine::LoadedModule& module, uint64_t seed) {
  constexpr uint64_t kBufferBytes = 1024;
  const mem::Address buffer = device.allocate(kBufferBytes);
  for (const auto& kernel : module.program().functions) {
    if (!kernel.source->entry || kernel.param_bytes > 4096) continue;
    machine::LaunchRequest launch;
    launch.kernel = kernel.name;
    launch.grid = {2, 1, 1};
    launch.block = {48, 1, 1};
    launch.dynamic_shared_bytes = 256;
    launch.params.resize(kernel.param_bytes);
    for (const uint32_t offset : kernel.param_offsets) {
      if (offset + sizeof buffer <= launch.params.size()) {
        std::memcpy(launch.params.data() + offset, &buffer, sizeof buffer);
      }
    }
    machine::DeviceRunOptions options;
    options.budget = 20'000;
    options.seed = seed;
    const auto outcome = device.run(module, launch, options);
    if (outcome) (void)describe(*outcome);
  }
}

// False if the text does not load.
inline bool execute_input(std::string_view text, uint64_t seed) {
  for (const bool reference : {false, true}) {
    machine::DeviceLimits limits;
    limits.sms = 2;
    limits.memory = 16 << 20;
    machine::Device device(limits);
    const auto module = device.load(text, {.observed = !reference, .reference = reference});
    if (!module) return false;
    launch_all(device, **module, reference ? 0 : seed);
  }
  return true;
}

}  // namespace fb::fuzz
