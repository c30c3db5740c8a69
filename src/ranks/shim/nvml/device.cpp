// Devices and their memory.

#include <cstdio>
#include <cstring>
#include <string>

#include "ranks/shim/nvml/node.h"

#undef nvmlDeviceGetCount
#undef nvmlDeviceGetHandleByIndex

using namespace fb::shim::nvml;
namespace wire = fb::wire;

namespace {

// As `cudaDeviceProp::uuid` has it, in the text that nvidia-smi prints.
std::string uuid_text(const wire::DeviceFacts& facts) {
  std::string text = "GPU";
  for (size_t k = 0; k < sizeof facts.uuid; ++k) {
    if (k == 0 || k == 4 || k == 6 || k == 8 || k == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", facts.uuid[k]);
    text += digits;
  }
  return text;
}

nvmlReturn_t clock_of(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* megahertz) {
  if (type < NVML_CLOCK_GRAPHICS || type >= NVML_CLOCK_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
  return give_number(handle, megahertz, [&](const wire::DeviceFacts& f) {
    return (type == NVML_CLOCK_MEM ? f.memory_clock_khz : f.clock_khz) / 1000;
  });
}

// Used by all processes of the node, as it is now.
nvmlReturn_t memory_of(const Device& device, nvmlMemory_t& memory) {
  const auto now = ask_machine();
  if (!now || device.index >= now->size()) return NVML_ERROR_GPU_IS_LOST;
  const wire::DeviceFacts& f = (*now)[device.index];
  memory = {f.memory_bytes, f.memory_bytes - f.memory_used, f.memory_used};
  return NVML_SUCCESS;
}

}  // namespace

FB_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  const auto all = devices();
  if (!all) return NVML_ERROR_UNINITIALIZED;
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  *count = static_cast<unsigned int>(all->size());
  return NVML_SUCCESS;
}
FB_API nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) { return nvmlDeviceGetCount_v2(count); }

FB_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  const auto all = devices();
  if (!all) return NVML_ERROR_UNINITIALIZED;
  if (!device || index >= all->size()) return NVML_ERROR_INVALID_ARGUMENT;
  *device = handle_of(index);
  return NVML_SUCCESS;
}
FB_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

FB_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  const auto all = devices();
  if (!all) return NVML_ERROR_UNINITIALIZED;
  if (!uuid || !device) return NVML_ERROR_INVALID_ARGUMENT;
  for (size_t k = 0; k < all->size(); ++k) {
    if (uuid_text((*all)[k]) != uuid) continue;
    *device = handle_of(k);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

FB_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned int* index) {
  return with_device(handle, [&](const Device& device) {
    if (!index) return NVML_ERROR_INVALID_ARGUMENT;
    *index = static_cast<unsigned int>(device.index);
    return NVML_SUCCESS;
  });
}
FB_API nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned int* number) {
  return nvmlDeviceGetIndex(handle, number);
}

FB_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned int length) {
  return with_device(handle, [&](const Device& device) { return give_text(name, length, device.facts().name); });
}
FB_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned int length) {
  return with_device(handle,
                     [&](const Device& device) { return give_text(uuid, length, uuid_text(device.facts()).c_str()); });
}
FB_API nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t handle, nvmlBrandType_t* brand) {
  return give_number(handle, brand, [](const auto&) { return NVML_BRAND_NVIDIA; });
}
FB_API nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t handle, nvmlDeviceArchitecture_t* architecture) {
  return give_number(handle, architecture, [](const wire::DeviceFacts& f) -> unsigned int {
    return f.capability_major >= 10  ? NVML_DEVICE_ARCH_BLACKWELL
           : f.capability_major == 9 ? NVML_DEVICE_ARCH_HOPPER
                                     : NVML_DEVICE_ARCH_UNKNOWN;
  });
}
FB_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor) {
  return with_device(handle, [&](const Device& device) {
    if (!major || !minor) return NVML_ERROR_INVALID_ARGUMENT;
    *major = static_cast<int>(device.facts().capability_major);
    *minor = static_cast<int>(device.facts().capability_minor);
    return NVML_SUCCESS;
  });
}
FB_API nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t handle, nvmlComputeMode_t* mode) {
  return give_number(handle, mode, [](const auto&) { return NVML_COMPUTEMODE_DEFAULT; });
}
FB_API nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t handle, nvmlEnableState_t* mode) {
  return give_number(handle, mode, [](const auto&) { return NVML_FEATURE_ENABLED; });
}
FB_API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* megahertz) {
  return clock_of(handle, type, megahertz);
}
FB_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* megahertz) {
  return clock_of(handle, type, megahertz);
}

FB_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  return with_device(
      handle, [&](const Device& device) { return memory ? memory_of(device, *memory) : NVML_ERROR_INVALID_ARGUMENT; });
}
FB_API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  return with_device(handle, [&](const Device& device) {
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlMemory_t now;
    const nvmlReturn_t result = memory_of(device, now);
    if (result == NVML_SUCCESS) *memory = {memory->version, now.total, 0, now.free, now.used};
    return result;
  });
}
FB_API nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t handle, unsigned int* bits) {
  return give_number(handle, bits, [](const wire::DeviceFacts& f) { return f.memory_bus_bits; });
}
