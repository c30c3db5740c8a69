#pragma once

// The node as the machine describes it. Each question is a connection of its own, so that this library is no part of
// the process's conversation with the machine: it is no host thread, takes no virtual time and holds none up.

#include <nvml.h>

#include <memory>
#include <vector>

#include "common/wire/messages.h"

#define FB_API extern "C" __attribute__((visibility("default")))

namespace fb::shim::nvml {

using Devices = std::vector<wire::DeviceFacts>;

// The devices of this process's node, as they are now. Null: there is no machine.
std::unique_ptr<Devices> ask_machine();

// Between nvmlInit and the last nvmlShutdown; null otherwise. What never changes is read from here.
std::shared_ptr<const Devices> devices();
nvmlReturn_t start();
nvmlReturn_t stop();

nvmlDevice_t handle_of(size_t index);

// One device of the node, for the functions that take its handle.
struct Device {
  std::shared_ptr<const Devices> all;
  size_t index = 0;
  const wire::DeviceFacts& facts() const { return (*all)[index]; }
};

// Calls body(Device) for a valid handle.
nvmlReturn_t find_device(nvmlDevice_t handle, Device& found);
template <class Body>
nvmlReturn_t with_device(nvmlDevice_t handle, Body body) {
  Device device;
  const nvmlReturn_t result = find_device(handle, device);
  return result == NVML_SUCCESS ? body(device) : result;
}

// The same for a function whose only result is a number.
template <class Number, class Body>
nvmlReturn_t give_number(nvmlDevice_t handle, Number* number, Body body) {
  return with_device(handle, [&](const Device& device) {
    if (!number) return NVML_ERROR_INVALID_ARGUMENT;
    *number = static_cast<Number>(body(device.facts()));
    return NVML_SUCCESS;
  });
}

nvmlReturn_t give_text(char* to, unsigned int length, const char* text);

}  // namespace fb::shim::nvml
