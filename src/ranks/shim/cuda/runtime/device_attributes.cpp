#include <algorithm>
#include <cstring>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"

namespace shim = fb::shim;
using fb::wire::DeviceFacts;
using shim::record;

namespace {

constexpr int kWarp = 32;
constexpr int kSharedPerBlock = 48 << 10;  // without asking for more
constexpr int kConstantBytes = 64 << 10;
constexpr int kHandleOfFile = cudaMemHandleTypePosixFileDescriptor;

int as_int(int value) { return value; }
int as_int(uint64_t value) { return static_cast<int>(std::min<uint64_t>(value, 0x7fffffff)); }
int as_int(uint32_t value) { return as_int(uint64_t{value}); }

// False: no such attribute.
bool attribute_of(const DeviceFacts& d, cudaDeviceAttr attribute, int& value) {
  switch (attribute) {
#define ATTRIBUTE(name, ...)     \
  case cudaDevAttr##name:        \
    value = as_int(__VA_ARGS__); \
    return true;
#define NO_ATTRIBUTE(name) \
  case cudaDevAttr##name:  \
    return false;
#include "ranks/shim/cuda/runtime/device_attributes.def"
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
