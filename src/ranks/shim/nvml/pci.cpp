#include "ranks/shim/nvml/pci.h"

#include <cstdio>
#include <cstring>

#undef nvmlDeviceGetPciInfo
#undef nvmlDeviceGetHandleByPciBusId

using namespace fb::shim::nvml;
namespace wire = fb::wire;

namespace fb::shim::nvml {

void fill(PciInfoBeforeV3& info, const wire::PciAddress& at, unsigned int ids) {
  info = {{}, at.domain, at.bus, at.device, ids, 0};
  std::snprintf(info.bus_id, sizeof info.bus_id, "%04X:%02X:%02X.0", at.domain & 0xFFFF, at.bus & 0xFF,
                at.device & 0xFF);
}

void fill(nvmlPciInfo_t& info, const wire::PciAddress& at, unsigned int ids) {
  info = {{}, at.domain, at.bus, at.device, ids, 0, {}};
  std::snprintf(info.busIdLegacy, sizeof info.busIdLegacy, "%04X:%02X:%02X.0", at.domain & 0xFFFF, at.bus & 0xFF,
                at.device & 0xFF);
  std::snprintf(info.busId, sizeof info.busId, "%08X:%02X:%02X.0", at.domain, at.bus & 0xFF, at.device & 0xFF);
}

}  // namespace fb::shim::nvml

namespace {

template <class Info>
nvmlReturn_t give(nvmlDevice_t handle, Info* info) {
  return with_device(handle, [&](const Device& device) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    fill(*info, device.facts().pci, device.facts().pci_ids);
    return NVML_SUCCESS;
  });
}

// Megabits per second of one lane.
constexpr unsigned int kLaneRates[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};

struct Address {
  unsigned int domain = 0, bus = 0, device = 0, function = 0;
};

// "domain:bus:device.function", with four or eight digits of the domain or none, in either case; without the function
// it is 0.
bool read_address(const char* text, Address& into) {
  int without = 0, with = 0;
  const auto is_whole = [&](int got, int needed) {
    return (got == needed && text[without] == '\0') || (got == needed + 1 && text[with] == '\0');
  };
  Address a;
  if (is_whole(std::sscanf(text, "%x:%x:%x%n.%x%n", &a.domain, &a.bus, &a.device, &without, &a.function, &with), 3)) {
    into = a;
    return true;
  }
  a = {};
  if (!is_whole(std::sscanf(text, "%x:%x%n.%x%n", &a.bus, &a.device, &without, &a.function, &with), 2)) return false;
  into = a;
  return true;
}

unsigned int lane_rate(const wire::DeviceFacts& f) {
  return f.pcie_generation < std::size(kLaneRates) ? kLaneRates[f.pcie_generation] : kLaneRates[0];
}

}  // namespace

FB_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* text, nvmlDevice_t* found) {
  const auto all = devices();
  if (!all) return NVML_ERROR_UNINITIALIZED;
  if (!text || !found) return NVML_ERROR_INVALID_ARGUMENT;
  Address wanted;
  if (!read_address(text, wanted)) return NVML_ERROR_INVALID_ARGUMENT;
  for (size_t k = 0; k < all->size(); ++k) {
    const wire::PciAddress& at = (*all)[k].pci;
    if (at.domain != wanted.domain || at.bus != wanted.bus || at.device != wanted.device || wanted.function != 0)
      continue;
    *found = handle_of(k);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}
FB_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* text, nvmlDevice_t* found) {
  return nvmlDeviceGetHandleByPciBusId_v2(text, found);
}

FB_API nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t handle, PciInfoBeforeV3* info) { return give(handle, info); }
FB_API nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, PciInfoBeforeV3* info) { return give(handle, info); }
FB_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* info) { return give(handle, info); }

FB_API nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t handle, nvmlPciInfoExt_t* info) {
  return with_device(handle, [&](const Device& device) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    // A version says how long the caller's struct is: its last member may be the short address.
    const unsigned int bytes = info->version & 0xFFFFFF, least = offsetof(nvmlPciInfoExt_t, busId) + 16;
    if (info->version >> 24 != 1 || bytes < least || bytes > sizeof *info) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const wire::PciAddress& at = device.facts().pci;
    constexpr unsigned int kDisplay = 3, kThreeD = 2;
    nvmlPciInfoExt_t full = {info->version, at.domain, at.bus, at.device, device.facts().pci_ids, 0,
                             kDisplay,      kThreeD,   {}};
    const bool is_long = bytes == sizeof *info;
    std::snprintf(full.busId, bytes - offsetof(nvmlPciInfoExt_t, busId),
                  is_long ? "%08X:%02X:%02X.0" : "%04X:%02X:%02X.0", at.domain, at.bus, at.device);
    std::memcpy(info, &full, bytes);
    return NVML_SUCCESS;
  });
}

FB_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t handle, unsigned int* generation) {
  return give_number(handle, generation, [](const wire::DeviceFacts& f) { return f.pcie_generation; });
}
FB_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t handle, unsigned int* generation) {
  return nvmlDeviceGetCurrPcieLinkGeneration(handle, generation);
}
FB_API nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t handle, unsigned int* generation) {
  return nvmlDeviceGetCurrPcieLinkGeneration(handle, generation);
}
FB_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t handle, unsigned int* lanes) {
  return give_number(handle, lanes, [](const wire::DeviceFacts& f) { return f.pcie_lanes; });
}
FB_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t handle, unsigned int* lanes) {
  return nvmlDeviceGetCurrPcieLinkWidth(handle, lanes);
}
// NVML_PCIE_LINK_MAX_SPEED_… are numbered like the generations.
FB_API nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t handle, unsigned int* speed) {
  return nvmlDeviceGetCurrPcieLinkGeneration(handle, speed);
}
FB_API nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t handle, unsigned int* megabits) {
  return give_number(handle, megabits, &lane_rate);
}
