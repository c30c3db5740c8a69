#include <algorithm>
#include <cstring>

#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"

namespace shim = fb::shim;
using fb::wire::DeviceFacts;
using shim::record;

namespace {

// The sizes of textures and surfaces: the same on all devices of these generations.
struct TextureLimit {
  cudaDeviceAttr attribute;
  int value;
};
constexpr TextureLimit kTextureLimits[] = {
    {cudaDevAttrMaxTexture1DWidth, 131072},
    {cudaDevAttrMaxTexture2DWidth, 131072},
    {cudaDevAttrMaxTexture2DHeight, 65536},
    {cudaDevAttrMaxTexture3DWidth, 16384},
    {cudaDevAttrMaxTexture3DHeight, 16384},
    {cudaDevAttrMaxTexture3DDepth, 16384},
    {cudaDevAttrMaxTexture2DLayeredWidth, 32768},
    {cudaDevAttrMaxTexture2DLayeredHeight, 32768},
    {cudaDevAttrMaxTexture2DLayeredLayers, 2048},
    {cudaDevAttrMaxTexture1DLayeredWidth, 32768},
    {cudaDevAttrMaxTexture1DLayeredLayers, 2048},
    {cudaDevAttrMaxTexture2DGatherWidth, 32768},
    {cudaDevAttrMaxTexture2DGatherHeight, 32768},
    {cudaDevAttrMaxTexture3DWidthAlt, 8192},
    {cudaDevAttrMaxTexture3DHeightAlt, 8192},
    {cudaDevAttrMaxTexture3DDepthAlt, 32768},
    {cudaDevAttrMaxTextureCubemapWidth, 32768},
    {cudaDevAttrMaxTextureCubemapLayeredWidth, 32768},
    {cudaDevAttrMaxTextureCubemapLayeredLayers, 2046},
    {cudaDevAttrMaxSurface1DWidth, 32768},
    {cudaDevAttrMaxSurface2DWidth, 131072},
    {cudaDevAttrMaxSurface2DHeight, 65536},
    {cudaDevAttrMaxSurface3DWidth, 16384},
    {cudaDevAttrMaxSurface3DHeight, 16384},
    {cudaDevAttrMaxSurface3DDepth, 16384},
    {cudaDevAttrMaxSurface1DLayeredWidth, 32768},
    {cudaDevAttrMaxSurface1DLayeredLayers, 2048},
    {cudaDevAttrMaxSurface2DLayeredWidth, 32768},
    {cudaDevAttrMaxSurface2DLayeredHeight, 32768},
    {cudaDevAttrMaxSurface2DLayeredLayers, 2048},
    {cudaDevAttrMaxSurfaceCubemapWidth, 32768},
    {cudaDevAttrMaxSurfaceCubemapLayeredWidth, 32768},
    {cudaDevAttrMaxSurfaceCubemapLayeredLayers, 2046},
    {cudaDevAttrMaxTexture1DLinearWidth, 268435456},
    {cudaDevAttrMaxTexture2DLinearWidth, 131072},
    {cudaDevAttrMaxTexture2DLinearHeight, 65000},
    {cudaDevAttrMaxTexture2DLinearPitch, 2097120},
    {cudaDevAttrMaxTexture2DMipmappedWidth, 32768},
    {cudaDevAttrMaxTexture2DMipmappedHeight, 32768},
    {cudaDevAttrMaxTexture1DMipmappedWidth, 32768},
};

int texture_limit(cudaDeviceAttr attribute) {
  for (const TextureLimit& row : kTextureLimits) {
    if (row.attribute == attribute) return row.value;
  }
  return 0;
}

constexpr int kWarp = 32;
constexpr int kSharedPerBlock = 48 << 10;  // without asking for more
constexpr int kConstantBytes = 64 << 10;
constexpr int kHandleOfFile = cudaMemHandleTypePosixFileDescriptor;

int as_int(uint64_t value) { return static_cast<int>(std::min<uint64_t>(value, 0x7fffffff)); }

// False: no such attribute.
bool attribute_of(const DeviceFacts& d, cudaDeviceAttr attribute, int& value) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      value = as_int(d.threads_per_block);
      return true;
    case cudaDevAttrMaxBlockDimZ:
      value = 64;
      return true;
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxPitch:
      value = 0x7fffffff;
      return true;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      value = 65535;
      return true;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      value = kSharedPerBlock;
      return true;
    case cudaDevAttrTotalConstantMemory:
      value = kConstantBytes;
      return true;
    case cudaDevAttrWarpSize:
    case cudaDevAttrTexturePitchAlignment:
      value = kWarp;
      return true;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      value = as_int(d.registers_per_multiprocessor);
      return true;
    case cudaDevAttrClockRate:
      value = as_int(d.clock_khz);
      return true;
    case cudaDevAttrTextureAlignment:
    case cudaDevAttrSurfaceAlignment:
      value = 512;
      return true;
    case cudaDevAttrMaxTexture1DWidth:
    case cudaDevAttrMaxTexture2DWidth:
    case cudaDevAttrMaxTexture2DHeight:
    case cudaDevAttrMaxTexture3DWidth:
    case cudaDevAttrMaxTexture3DHeight:
    case cudaDevAttrMaxTexture3DDepth:
    case cudaDevAttrMaxTexture2DLayeredWidth:
    case cudaDevAttrMaxTexture2DLayeredHeight:
    case cudaDevAttrMaxTexture2DLayeredLayers:
    case cudaDevAttrMaxTexture1DLayeredWidth:
    case cudaDevAttrMaxTexture1DLayeredLayers:
    case cudaDevAttrMaxTexture2DGatherWidth:
    case cudaDevAttrMaxTexture2DGatherHeight:
    case cudaDevAttrMaxTexture3DWidthAlt:
    case cudaDevAttrMaxTexture3DHeightAlt:
    case cudaDevAttrMaxTexture3DDepthAlt:
    case cudaDevAttrMaxTextureCubemapWidth:
    case cudaDevAttrMaxTextureCubemapLayeredWidth:
    case cudaDevAttrMaxTextureCubemapLayeredLayers:
    case cudaDevAttrMaxSurface1DWidth:
    case cudaDevAttrMaxSurface2DWidth:
    case cudaDevAttrMaxSurface2DHeight:
    case cudaDevAttrMaxSurface3DWidth:
    case cudaDevAttrMaxSurface3DHeight:
    case cudaDevAttrMaxSurface3DDepth:
    case cudaDevAttrMaxSurface1DLayeredWidth:
    case cudaDevAttrMaxSurface1DLayeredLayers:
    case cudaDevAttrMaxSurface2DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredHeight:
    case cudaDevAttrMaxSurface2DLayeredLayers:
    case cudaDevAttrMaxSurfaceCubemapWidth:
    case cudaDevAttrMaxSurfaceCubemapLayeredWidth:
    case cudaDevAttrMaxSurfaceCubemapLayeredLayers:
    case cudaDevAttrMaxTexture1DLinearWidth:
    case cudaDevAttrMaxTexture2DLinearWidth:
    case cudaDevAttrMaxTexture2DLinearHeight:
    case cudaDevAttrMaxTexture2DLinearPitch:
    case cudaDevAttrMaxTexture2DMipmappedWidth:
    case cudaDevAttrMaxTexture2DMipmappedHeight:
    case cudaDevAttrMaxTexture1DMipmappedWidth:
      value = texture_limit(attribute);
      return true;
    case cudaDevAttrReserved92:
    case cudaDevAttrReserved93:
    case cudaDevAttrReserved94:
    case cudaDevAttrReserved96:
    case cudaDevAttrReserved122:
    case cudaDevAttrReserved123:
    case cudaDevAttrReserved124:
    case cudaDevAttrReserved127:
    case cudaDevAttrReserved128:
    case cudaDevAttrReserved129:
    case cudaDevAttrReserved132:
    case cudaDevAttrD3D12CigSupported:
    case cudaDevAttrVulkanCigSupported:
    case cudaDevAttrReserved141:
    case cudaDevAttrHostNumaMemoryPoolsSupported:
    case cudaDevAttrHostMemoryPoolsSupported:
    case cudaDevAttrReserved145:
    case cudaDevAttrOnlyPartialHostNativeAtomicSupported:
    case cudaDevAttrMax:
      return false;
    case cudaDevAttrMultiProcessorCount:
      value = as_int(d.multiprocessors);
      return true;
    case cudaDevAttrPciBusId:
      value = as_int(d.pci.bus);
      return true;
    case cudaDevAttrPciDeviceId:
      value = as_int(d.pci.device);
      return true;
    case cudaDevAttrPciDomainId:
      value = as_int(d.pci.domain);
      return true;
    case cudaDevAttrMemoryClockRate:
      value = as_int(d.memory_clock_khz);
      return true;
    case cudaDevAttrGlobalMemoryBusWidth:
      value = as_int(d.memory_bus_bits);
      return true;
    case cudaDevAttrL2CacheSize:
      value = as_int(d.l2_bytes);
      return true;
    case cudaDevAttrMaxPersistingL2CacheSize:
      value = as_int(d.l2_bytes / 8 * 5);
      return true;
    case cudaDevAttrMaxAccessPolicyWindowSize:
      value = 128 << 20;
      return true;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      value = as_int(d.threads_per_multiprocessor);
      return true;
    case cudaDevAttrAsyncEngineCount:
      value = as_int(d.copy_engines);
      return true;
    case cudaDevAttrComputeCapabilityMajor:
      value = as_int(d.capability_major);
      return true;
    case cudaDevAttrComputeCapabilityMinor:
      value = as_int(d.capability_minor);
      return true;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      value = as_int(d.shared_per_multiprocessor);
      return true;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      value = as_int(d.shared_per_block_optin);
      return true;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      value = as_int(d.shared_reserved_per_block);
      return true;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      value = as_int(d.blocks_per_multiprocessor);
      return true;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      value = 2;
      return true;
    case cudaDevAttrMemSyncDomainCount:
      value = 4;
      return true;
    case cudaDevAttrMemoryPoolSupportedHandleTypes:
      value = kHandleOfFile | (d.fabric_handles ? cudaMemHandleTypeFabric : 0);
      return true;
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
      value = 1;
      return true;
    case cudaDevAttrGPUDirectRDMAWritesOrdering:
      value = cudaFlushGPUDirectRDMAWritesToOwner;
      return true;
    case cudaDevAttrClusterLaunch:
      value = d.blocks_per_cluster > 1 ? 1 : 0;
      return true;
    case cudaDevAttrMultiGpuBoardGroupID:
    case cudaDevAttrHostNumaId:
    case cudaDevAttrComputeMode:
      value = 0;
      return true;
    case cudaDevAttrNumaId:
      value = -1;
      return true;
    case cudaDevAttrGpuPciDeviceId:
      value = (0x2330 << 16) | 0x10de;
      return true;
    case cudaDevAttrGpuPciSubsystemId:
      value = (0x16c1 << 16) | 0x10de;
      return true;
    // What every such device can do.
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrCanFlushRemoteWrites:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrGPUDirectRDMASupported:
    case cudaDevAttrIpcEventSupport:
      value = 1;
      return true;
    // What this one can't, or isn't.
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrIntegrated:
    case cudaDevAttrTccDriver:
    case cudaDevAttrIsMultiGpuBoard:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrSparseCudaArraySupported:
    case cudaDevAttrHostRegisterReadOnlySupported:
    case cudaDevAttrTimelineSemaphoreInteropSupported:
    case cudaDevAttrDeferredMappingCudaArraySupported:
    case cudaDevAttrNumaConfig:
    case cudaDevAttrMpsEnabled:
    case cudaDevAttrHostNumaMultinodeIpcSupported:
      value = 0;
      return true;
  }
  return false;
}

// What cudaDeviceProp tells, most of it the attributes again.
void fill_properties(const DeviceFacts& d, cudaDeviceProp& p) {
  const auto get = [&](cudaDeviceAttr attribute) {
    int value = 0;
    attribute_of(d, attribute, value);
    return value;
  };
  p = {};
  std::copy_n(d.name, sizeof d.name - 1, p.name);
  std::memcpy(p.uuid.bytes, d.uuid, sizeof p.uuid.bytes);
  p.totalGlobalMem = d.memory_bytes;
  p.sharedMemPerBlock = kSharedPerBlock;
  p.regsPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
  p.warpSize = kWarp;
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = get(cudaDevAttrMaxThreadsPerBlock);
  p.maxThreadsDim[0] = get(cudaDevAttrMaxBlockDimX);
  p.maxThreadsDim[1] = get(cudaDevAttrMaxBlockDimY);
  p.maxThreadsDim[2] = get(cudaDevAttrMaxBlockDimZ);
  p.maxGridSize[0] = get(cudaDevAttrMaxGridDimX);
  p.maxGridSize[1] = get(cudaDevAttrMaxGridDimY);
  p.maxGridSize[2] = get(cudaDevAttrMaxGridDimZ);
  p.totalConstMem = kConstantBytes;
  p.major = as_int(d.capability_major);
  p.minor = as_int(d.capability_minor);
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = kWarp;
  const auto put = [&](int* to, std::initializer_list<cudaDeviceAttr> attributes) {
    for (const cudaDeviceAttr attribute : attributes) *to++ = get(attribute);
  };
  put(&p.maxTexture1D, {cudaDevAttrMaxTexture1DWidth});
  put(&p.maxTexture1DMipmap, {cudaDevAttrMaxTexture1DMipmappedWidth});
  put(p.maxTexture2D, {cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight});
  put(p.maxTexture2DMipmap, {cudaDevAttrMaxTexture2DMipmappedWidth, cudaDevAttrMaxTexture2DMipmappedHeight});
  put(p.maxTexture2DLinear,
      {cudaDevAttrMaxTexture2DLinearWidth, cudaDevAttrMaxTexture2DLinearHeight, cudaDevAttrMaxTexture2DLinearPitch});
  put(p.maxTexture2DGather, {cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight});
  put(p.maxTexture3D, {cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight, cudaDevAttrMaxTexture3DDepth});
  put(p.maxTexture3DAlt,
      {cudaDevAttrMaxTexture3DWidthAlt, cudaDevAttrMaxTexture3DHeightAlt, cudaDevAttrMaxTexture3DDepthAlt});
  put(&p.maxTextureCubemap, {cudaDevAttrMaxTextureCubemapWidth});
  put(p.maxTexture1DLayered, {cudaDevAttrMaxTexture1DLayeredWidth, cudaDevAttrMaxTexture1DLayeredLayers});
  put(p.maxTexture2DLayered, {cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight,
                              cudaDevAttrMaxTexture2DLayeredLayers});
  put(p.maxTextureCubemapLayered,
      {cudaDevAttrMaxTextureCubemapLayeredWidth, cudaDevAttrMaxTextureCubemapLayeredLayers});
  put(&p.maxSurface1D, {cudaDevAttrMaxSurface1DWidth});
  put(p.maxSurface2D, {cudaDevAttrMaxSurface2DWidth, cudaDevAttrMaxSurface2DHeight});
  put(p.maxSurface3D, {cudaDevAttrMaxSurface3DWidth, cudaDevAttrMaxSurface3DHeight, cudaDevAttrMaxSurface3DDepth});
  put(p.maxSurface1DLayered, {cudaDevAttrMaxSurface1DLayeredWidth, cudaDevAttrMaxSurface1DLayeredLayers});
  put(p.maxSurface2DLayered, {cudaDevAttrMaxSurface2DLayeredWidth, cudaDevAttrMaxSurface2DLayeredHeight,
                              cudaDevAttrMaxSurface2DLayeredLayers});
  put(&p.maxSurfaceCubemap, {cudaDevAttrMaxSurfaceCubemapWidth});
  put(p.maxSurfaceCubemapLayered,
      {cudaDevAttrMaxSurfaceCubemapLayeredWidth, cudaDevAttrMaxSurfaceCubemapLayeredLayers});
  p.multiProcessorCount = as_int(d.multiprocessors);
  p.canMapHostMemory = p.concurrentKernels = p.ECCEnabled = p.unifiedAddressing = p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = p.managedMemory = p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = p.canUseHostPointerForRegisteredMem = p.cooperativeLaunch = 1;
  p.hostRegisterSupported = p.memoryPoolsSupported = p.gpuDirectRDMASupported = p.ipcEventSupported = 1;
  p.pciBusID = as_int(d.pci.bus);
  p.pciDeviceID = as_int(d.pci.device);
  p.pciDomainID = as_int(d.pci.domain);
  p.asyncEngineCount = as_int(d.copy_engines);
  p.memoryBusWidth = as_int(d.memory_bus_bits);
  p.l2CacheSize = get(cudaDevAttrL2CacheSize);
  p.persistingL2CacheMaxSize = get(cudaDevAttrMaxPersistingL2CacheSize);
  p.accessPolicyMaxWindowSize = get(cudaDevAttrMaxAccessPolicyWindowSize);
  p.maxThreadsPerMultiProcessor = as_int(d.threads_per_multiprocessor);
  p.sharedMemPerMultiprocessor = d.shared_per_multiprocessor;
  p.regsPerMultiprocessor = as_int(d.registers_per_multiprocessor);
  p.sharedMemPerBlockOptin = d.shared_per_block_optin;
  p.maxBlocksPerMultiProcessor = as_int(d.blocks_per_multiprocessor);
  p.reservedSharedMemPerBlock = d.shared_reserved_per_block;
  p.gpuDirectRDMAFlushWritesOptions = 1;
  p.gpuDirectRDMAWritesOrdering = cudaFlushGPUDirectRDMAWritesToOwner;
  p.memoryPoolSupportedHandleTypes = static_cast<unsigned int>(get(cudaDevAttrMemoryPoolSupportedHandleTypes));
  p.clusterLaunch = get(cudaDevAttrClusterLaunch);
  p.deviceNumaId = -1;
  p.gpuPciDeviceID = static_cast<unsigned int>(get(cudaDevAttrGpuPciDeviceId));
  p.gpuPciSubsystemID = static_cast<unsigned int>(get(cudaDevAttrGpuPciSubsystemId));
}

}  // namespace

FB_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  if (!value || !attribute_of(shim::Session::get().device(device), attribute, *value))
    return record(cudaErrorInvalidValue);
  return cudaSuccess;
}

FB_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!properties) return record(cudaErrorInvalidValue);
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  fill_properties(shim::Session::get().device(device), *properties);
  return cudaSuccess;
}
