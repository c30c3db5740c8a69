#include "ranks/shim/nvml/node.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "common/wire/channel.h"
#include "common/wire/identity.h"

namespace fb::shim::nvml {
namespace {

// Handles are numbers that are no addresses.
constexpr uintptr_t kFirstHandle = 0x1000, kHandleStep = 0x10;

struct State {
  std::mutex mutex;
  unsigned int starts = 0;
  std::shared_ptr<const Devices> devices;
};
State& state() {
  static State* const made = new State;
  return *made;
}

}  // namespace

std::unique_ptr<Devices> ask_machine() {
  const char* path = std::getenv(wire::kSocketVariable);
  if (!path) return nullptr;
  wire::Channel channel = wire::Channel::connect(path);
  if (!channel) return nullptr;
  wire::Hello hello = wire::hello_of_this_thread();
  hello.purpose = wire::Purpose::facts;
  wire::Welcome welcome;
  std::vector<std::byte> bytes;
  if (channel.call<wire::Kind::hello>(hello, &welcome, {}, &bytes) != wire::Status::ok) return nullptr;
  if (welcome.devices == 0 || welcome.devices > wire::kMostDevices ||
      bytes.size() != welcome.devices * sizeof(wire::DeviceFacts))
    return nullptr;
  auto devices = std::make_unique<Devices>(welcome.devices);
  std::memcpy(devices->data(), bytes.data(), bytes.size());
  return devices;
}

std::shared_ptr<const Devices> devices() {
  const std::lock_guard lock(state().mutex);
  return state().devices;
}

nvmlReturn_t start() {
  const std::lock_guard lock(state().mutex);
  if (!state().devices) state().devices = ask_machine();
  if (!state().devices) return NVML_ERROR_DRIVER_NOT_LOADED;
  ++state().starts;
  return NVML_SUCCESS;
}

nvmlReturn_t stop() {
  const std::lock_guard lock(state().mutex);
  if (state().starts == 0) return NVML_ERROR_UNINITIALIZED;
  if (--state().starts == 0) state().devices.reset();
  return NVML_SUCCESS;
}

nvmlDevice_t handle_of(size_t index) { return reinterpret_cast<nvmlDevice_t>(kFirstHandle + index * kHandleStep); }

nvmlReturn_t find_device(nvmlDevice_t handle, Device& found) {
  found.all = devices();
  if (!found.all) return NVML_ERROR_UNINITIALIZED;
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number < kFirstHandle || (number - kFirstHandle) % kHandleStep != 0) return NVML_ERROR_INVALID_ARGUMENT;
  found.index = (number - kFirstHandle) / kHandleStep;
  return found.index < found.all->size() ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t give_text(char* to, unsigned int length, const char* text) {
  if (!to) return NVML_ERROR_INVALID_ARGUMENT;
  if (std::strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::strcpy(to, text);
  return NVML_SUCCESS;
}

}  // namespace fb::shim::nvml
