#include <cstdio>
#include <cstring>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/memory/memory.h"

using namespace fb::shim;

namespace {

// What the driver API alone can be asked; false: the runtime knows it as well, under the same number.
bool driver_attribute(CUdevice_attribute attribute, const fb::wire::DeviceFacts& facts, int& value) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
      value = 1;
      return true;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
      value = facts.fabric_handles != 0;
      return true;
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
      value = facts.multicast != 0;
      return true;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
    case CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH:
    case CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED:
      value = 0;
      return true;
    default:
      return false;
  }
}

}  // namespace

FB_API CUresult cuDeviceGetCount(int* count) {
  return with_init([&] {
    if (!count) return cudaErrorInvalidValue;
    *count = Session::get().device_count();
    return cudaSuccess;
  });
}

FB_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return with_init([&] {
    if (!device) return cudaErrorInvalidValue;
    if (!Session::get().has_device(ordinal)) return cudaErrorInvalidDevice;
    *device = ordinal;
    return cudaSuccess;
  });
}

FB_API CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return with_init([&] {
    if (!name || length <= 0) return cudaErrorInvalidValue;
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    std::snprintf(name, static_cast<size_t>(length), "%.63s", Session::get().device(device).name);
    return cudaSuccess;
  });
}

FB_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return with_init([&] {
    if (!uuid) return cudaErrorInvalidValue;
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    static_assert(sizeof *uuid == sizeof Session::get().device(0).uuid);
    std::memcpy(uuid, Session::get().device(device).uuid, sizeof *uuid);
    return cudaSuccess;
  });
}

FB_API CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return with_init([&] {
    if (!bytes) return cudaErrorInvalidValue;
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    *bytes = Session::get().device(device).memory_bytes;
    return cudaSuccess;
  });
}

FB_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return with_init([&] {
    if (!value) return cudaErrorInvalidValue;
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    if (driver_attribute(attribute, Session::get().device(device), *value)) return cudaSuccess;
    return as_runtime([&] { return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device); });
  });
}

FB_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return with_init([&] {
    if (!major || !minor) return cudaErrorInvalidValue;
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    *major = static_cast<int>(Session::get().device(device).capability_major);
    *minor = static_cast<int>(Session::get().device(device).capability_minor);
    return cudaSuccess;
  });
}

FB_API CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  return with_init([&] {
    if (!properties) return cudaErrorInvalidValue;
    cudaDeviceProp all;
    const Error e = as_runtime([&] { return cudaGetDeviceProperties(&all, device); });
    if (e != cudaSuccess) return e;
    *properties = {};
    properties->maxThreadsPerBlock = all.maxThreadsPerBlock;
    std::memcpy(properties->maxThreadsDim, all.maxThreadsDim, sizeof properties->maxThreadsDim);
    std::memcpy(properties->maxGridSize, all.maxGridSize, sizeof properties->maxGridSize);
    properties->sharedMemPerBlock = static_cast<int>(all.sharedMemPerBlock);
    properties->totalConstantMemory = static_cast<int>(all.totalConstMem);
    properties->SIMDWidth = all.warpSize;
    properties->memPitch = static_cast<int>(all.memPitch);
    properties->regsPerBlock = all.regsPerBlock;
    properties->clockRate = static_cast<int>(Session::get().device(device).clock_khz);
    properties->textureAlign = static_cast<int>(all.textureAlignment);
    return cudaSuccess;
  });
}

FB_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return with_init([&] { return as_runtime([&] { return cudaDeviceGetByPCIBusId(device, id); }); });
}

FB_API CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return with_init([&] { return as_runtime([&] { return cudaDeviceGetPCIBusId(id, length, device); }); });
}

FB_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return with_init([&] {
    if (!can) return cudaErrorInvalidValue;
    for (const int one : {device, peer}) {
      if (const Error e = check_device(one); e != cudaSuccess) return e;
    }
    *can = can_access_peer(device, peer) ? 1 : 0;
    return cudaSuccess;
  });
}

FB_API CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
  return with_init([&] {
    return as_runtime(
        [&] { return cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(attribute), from, to); });
  });
}

// No NIC writes behind a device's back that a flush could bring forward.
FB_API CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope) {
  return in_context([] { return cudaSuccess; });
}
