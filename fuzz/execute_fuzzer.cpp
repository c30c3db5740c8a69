// Whatever text comes in: load it, and if it loads, launch every kernel briefly with a buffer for each parameter.
// Guests may fault, hang or run away; the machine must not.

#include <cstring>
#include <string_view>

#include "machine/device.h"

namespace {

constexpr uint64_t kBufferBytes = 1024;

void launch_all(fb::machine::Device& device, const fb::machine::LoadedModule& module, bool reference) {
  const fb::mem::Address buffer = device.allocate(kBufferBytes);
  for (const auto& kernel : module.program().functions) {
    if (!kernel.source->entry || kernel.param_bytes > 4096) continue;
    fb::machine::LaunchRequest launch;
    launch.kernel = kernel.name;
    launch.grid = {2, 1, 1};
    launch.block = {48, 1, 1};
    launch.dynamic_shared_bytes = 256;
    launch.params.resize(kernel.param_bytes);
    for (const uint32_t offset : kernel.param_offsets) {
      if (offset + sizeof buffer <= launch.params.size())
        std::memcpy(launch.params.data() + offset, &buffer, sizeof buffer);
    }
    fb::machine::RunOptions options;
    options.budget = 20'000;
    options.seed = reference ? 0 : 1;
    const auto outcome = device.run(module, launch, options);
    if (outcome) (void)describe(*outcome);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool reference : {false, true}) {
    fb::machine::DeviceLimits limits;
    limits.sms = 2;
    limits.memory = 16 << 20;
    fb::machine::Device device(limits);
    const auto module = device.load(text, {.observed = !reference, .reference = reference});
    if (!module) return 0;
    launch_all(device, **module, reference);
  }
  return 0;
}
