// NVLink, and the fabric of switches behind it.

#include <algorithm>
#include <cstring>
#include <span>

#include "ranks/shim/nvml/pci.h"

#undef nvmlDeviceGetNvLinkRemotePciInfo

using namespace fb::shim::nvml;
namespace wire = fb::wire;

namespace {

// NVSwitch of the third generation; a bridge device.
constexpr unsigned int kSwitchIds = 0x22a310de;

template <class Body>
nvmlReturn_t with_link(nvmlDevice_t handle, unsigned int link, Body body) {
  return with_device(handle, [&](const Device& device) {
    if (device.facts().nvlinks == 0) return NVML_ERROR_NOT_SUPPORTED;
    return link < device.facts().nvlinks ? body(device) : NVML_ERROR_INVALID_ARGUMENT;
  });
}

unsigned int version_of(const wire::DeviceFacts& f) {
  constexpr nvmlNvlinkVersion_t kVersions[] = {NVML_NVLINK_VERSION_INVALID, NVML_NVLINK_VERSION_1_0,
                                               NVML_NVLINK_VERSION_2_2,     NVML_NVLINK_VERSION_3_1,
                                               NVML_NVLINK_VERSION_4_0,     NVML_NVLINK_VERSION_5_0};
  return f.nvlink_generation < std::size(kVersions) ? kVersions[f.nvlink_generation] : NVML_NVLINK_VERSION_INVALID;
}

template <class Info>
nvmlReturn_t remote_of(nvmlDevice_t handle, unsigned int link, Info* info) {
  return with_link(handle, link, [&](const Device& device) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    const wire::DeviceFacts& f = device.facts();
    fill(*info, f.link_remote[link], f.nvswitches != 0 ? kSwitchIds : f.pci_ids);
    return NVML_SUCCESS;
  });
}

void fill_field(nvmlFieldValue_t& field, const wire::DeviceFacts& f) {
  const auto give = [&](unsigned int value) {
    field.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    field.value = {};
    field.value.uiVal = value;
    field.nvmlReturn = NVML_SUCCESS;
  };
  const auto give_of_link = [&](unsigned int value) {
    if (field.scopeId < f.nvlinks) return give(value);
    field.nvmlReturn = f.nvlinks == 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
  };
  field.timestamp = field.latencyUsec = 0;
  switch (field.fieldId) {
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
      return give(f.nvlinks);
    case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
      return give(f.nvlink_megabytes);
    case NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT:
      return give(f.nvswitches != 0 ? f.nvlinks : 0);
    case NVML_FI_DEV_NVLINK_GET_SPEED:
      return give_of_link(f.nvlink_megabytes);
    case NVML_FI_DEV_NVLINK_GET_STATE:
      return give_of_link(NVML_FEATURE_ENABLED);
    case NVML_FI_DEV_NVLINK_GET_VERSION:
      return give_of_link(version_of(f));
    case NVML_FI_DEV_NVLINK_REMOTE_NVLINK_ID:
      return give_of_link(field.scopeId);
    case NVML_FI_DEV_C2C_LINK_COUNT:
      return give(0);
    default:
      field.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

FB_API nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t handle, unsigned int link, nvmlEnableState_t* active) {
  return with_link(handle, link, [&](const Device&) {
    if (!active) return NVML_ERROR_INVALID_ARGUMENT;
    *active = NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
  });
}

FB_API nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t handle, unsigned int link, unsigned int* version) {
  return with_link(handle, link, [&](const Device& device) {
    if (!version) return NVML_ERROR_INVALID_ARGUMENT;
    *version = version_of(device.facts());
    return NVML_SUCCESS;
  });
}

FB_API nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t handle, unsigned int link,
                                                  nvmlNvLinkCapability_t capability, unsigned int* result) {
  return with_link(handle, link, [&](const Device& device) {
    if (!result || capability < NVML_NVLINK_CAP_P2P_SUPPORTED || capability >= NVML_NVLINK_CAP_COUNT)
      return NVML_ERROR_INVALID_ARGUMENT;
    const bool atomics = std::ranges::any_of(device.facts().peer_atomics, [](uint64_t bits) { return bits != 0; });
    *result = capability == NVML_NVLINK_CAP_P2P_SUPPORTED || capability == NVML_NVLINK_CAP_VALID ||
              (capability == NVML_NVLINK_CAP_P2P_ATOMICS && atomics);
    return NVML_SUCCESS;
  });
}

FB_API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t handle, unsigned int link, PciInfoBeforeV3* info) {
  return remote_of(handle, link, info);
}
FB_API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t handle, unsigned int link, nvmlPciInfo_t* info) {
  return remote_of(handle, link, info);
}
FB_API nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t handle, unsigned int link,
                                                        nvmlIntNvLinkDeviceType_t* type) {
  return with_link(handle, link, [&](const Device& device) {
    if (!type) return NVML_ERROR_INVALID_ARGUMENT;
    *type = device.facts().nvswitches != 0 ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU;
    return NVML_SUCCESS;
  });
}

FB_API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count, nvmlFieldValue_t* values) {
  return with_device(handle, [&](const Device& device) {
    if (!values || count < 0) return NVML_ERROR_INVALID_ARGUMENT;
    for (nvmlFieldValue_t& value : std::span(values, static_cast<size_t>(count))) fill_field(value, device.facts());
    return NVML_SUCCESS;
  });
}

// Devices behind switches have registered with them. A cluster would be several nodes in one domain of NVLink: its UUID
// is zero in a node of its own.
FB_API nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t handle, nvmlGpuFabricInfo_t* info) {
  return with_device(handle, [&](const Device& device) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    const bool switched = device.facts().nvswitches != 0;
    *info = {{},
             NVML_SUCCESS,
             0,
             static_cast<nvmlGpuFabricState_t>(switched ? NVML_GPU_FABRIC_STATE_COMPLETED
                                                        : NVML_GPU_FABRIC_STATE_NOT_SUPPORTED)};
    return NVML_SUCCESS;
  });
}

// Of version 2 or 3, which adds a member at the end.
FB_API nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t handle, nvmlGpuFabricInfoV_t* info) {
  return with_device(handle, [&](const Device&) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlGpuFabricInfo_v2 && info->version != nvmlGpuFabricInfo_v3)
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlGpuFabricInfo_t plain;
    const nvmlReturn_t result = nvmlDeviceGetGpuFabricInfo(handle, &plain);
    if (result != NVML_SUCCESS) return result;
    nvmlGpuFabricInfo_v2_t made = {info->version, {}, plain.status, plain.cliqueId, plain.state, 0};
    std::memcpy(made.clusterUuid, plain.clusterUuid, sizeof made.clusterUuid);
    std::memcpy(info, &made, sizeof made);
    if (info->version == nvmlGpuFabricInfo_v3) info->healthSummary = 0;
    return NVML_SUCCESS;
  });
}
