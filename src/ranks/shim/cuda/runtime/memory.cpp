#include "ranks/shim/cuda/memory/memory.h"

#include <algorithm>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/host_memory.h"
#include "ranks/shim/cuda/streams/capture.h"

namespace shim = fb::shim;
using fb::wire::MemoryKind;
using shim::record;

namespace {

constexpr size_t kPitchAlignment = 512;

cudaError_t allocate(void** pointer, size_t bytes) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  // Nothing is allocated for nothing, which still starts the context.
  if (bytes == 0) return shim::Session::get().connect();
  const auto address = shim::allocate_device(bytes);
  if (!address) return address.error();
  *pointer = reinterpret_cast<void*>(*address);
  return cudaSuccess;
}

cudaError_t allocate_pitched(cudaPitchedPtr* pointer, size_t width, size_t height, size_t depth) {
  if (!pointer) return cudaErrorInvalidValue;
  const size_t pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  void* made = nullptr;
  if (const auto e = allocate(&made, pitch * height * depth); e != cudaSuccess) return e;
  *pointer = {made, pitch, width, height};
  return cudaSuccess;
}

cudaError_t allocate_managed(void** pointer, size_t bytes, unsigned int flags) {
  if (!pointer || bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
    return cudaErrorInvalidValue;
  const auto made = shim::allocate_host(bytes, MemoryKind::managed, flags);
  if (!made) return made.error();
  *pointer = *made;
  return cudaSuccess;
}

cudaError_t attributes_of(cudaPointerAttributes* attributes, const void* pointer) {
  if (!attributes) return cudaErrorInvalidValue;
  const auto facts = shim::describe(pointer);
  if (!facts) return facts.error();
  *attributes = {};
  void* const plain = const_cast<void*>(pointer);
  attributes->device = facts->device;
  switch (facts->kind) {
    case MemoryKind::device:
    case MemoryKind::physical:
    case MemoryKind::multicast:
    case MemoryKind::imported:
      attributes->type = cudaMemoryTypeDevice;
      attributes->devicePointer = plain;
      return cudaSuccess;
    case MemoryKind::host:
    case MemoryKind::registered:
      attributes->type = cudaMemoryTypeHost;
      attributes->device = std::max(facts->device, 0);
      attributes->devicePointer = attributes->hostPointer = plain;
      return cudaSuccess;
    case MemoryKind::managed:
      attributes->type = cudaMemoryTypeManaged;
      attributes->device = std::max(facts->device, 0);
      attributes->devicePointer = attributes->hostPointer = plain;
      return cudaSuccess;
    case MemoryKind::unknown:
      // Variables of modules are not allocations.
      if (facts->device < 0) break;
      attributes->type = cudaMemoryTypeDevice;
      attributes->devicePointer = plain;
      return cudaSuccess;
  }
  attributes->type = cudaMemoryTypeUnregistered;
  attributes->device = cudaInvalidDeviceId;
  attributes->hostPointer = plain;
  return cudaSuccess;
}

// Hints are about speed: checked, and then there is nothing to do.
cudaError_t check_managed(const void* pointer, size_t bytes, const cudaMemLocation& location) {
  if (bytes == 0 || !shim::is_managed(pointer)) return cudaErrorInvalidValue;
  if (location.type == cudaMemLocationTypeDevice) return shim::check_device(location.id);
  return cudaSuccess;
}

}  // namespace

FB_API cudaError_t cudaMalloc(void** pointer, size_t bytes) { return record(allocate(pointer, bytes)); }
FB_API cudaError_t cudaFree(void* pointer) { return record(shim::free_device(pointer)); }

FB_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  cudaPitchedPtr made{};
  if (!pointer || !pitch) return record(cudaErrorInvalidValue);
  if (const auto e = allocate_pitched(&made, width, height, 1); e != cudaSuccess) return record(e);
  *pointer = made.ptr;
  *pitch = made.pitch;
  return cudaSuccess;
}
FB_API cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  return record(allocate_pitched(pointer, extent.width, extent.height, extent.depth));
}
FB_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  return record(allocate_managed(pointer, bytes, flags));
}

FB_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  fb::wire::MemoryInfo info;
  const auto device = static_cast<uint32_t>(shim::thread().device);
  const auto e = shim::call<fb::wire::Kind::memory_info>({.device = device}, &info);
  if (e != cudaSuccess) return record(e);
  if (free) *free = info.free;
  if (total) *total = info.total;
  return cudaSuccess;
}

FB_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return record(attributes_of(attributes, pointer));
}

FB_API cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location) {
  if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
    return record(cudaErrorInvalidValue);
  return record(check_managed(pointer, bytes, location));
}

FB_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned int flags,
                                        cudaStream_t handle) {
  if (flags != 0) return record(cudaErrorInvalidValue);
  const auto stream = shim::find_stream(handle);
  if (!stream) return record(stream.error());
  return record(check_managed(pointer, bytes, location));
}
