#include "ranks/shim/cuda/memory/host_memory.h"

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/host_ranges.h"

namespace shim = fb::shim;
using fb::wire::MemoryKind;
using shim::record;

namespace {

cudaError_t allocate(void** pointer, size_t bytes, unsigned int flags) {
  constexpr unsigned int kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if (!pointer || (flags & ~kKnown)) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return shim::Session::get().connect();
  const auto made = shim::allocate_host(bytes, MemoryKind::host, flags);
  if (!made) return made.error();
  *pointer = *made;
  return cudaSuccess;
}

shim::Expected<shim::HostRange> pinned_range(const void* host) {
  if (const auto e = shim::Session::get().connect(); e != cudaSuccess) return shim::failure(e);
  const auto range = shim::find_host_range(host);
  if (!host || !range || range->kind == MemoryKind::managed) return shim::failure(cudaErrorInvalidValue);
  return *range;
}

}  // namespace

FB_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return record(allocate(pointer, bytes, cudaHostAllocDefault));
}
FB_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return record(allocate(pointer, bytes, flags));
}
FB_API cudaError_t cudaFreeHost(void* pointer) { return record(shim::free_host(pointer)); }

FB_API cudaError_t cudaHostRegister(void* host, size_t bytes, unsigned int flags) {
  constexpr unsigned int kKnown =
      cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
  return record(flags & ~kKnown ? cudaErrorInvalidValue : shim::register_host(host, bytes, flags));
}
FB_API cudaError_t cudaHostUnregister(void* host) { return record(shim::unregister_host(host)); }

// One address for host and devices.
FB_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  if (!device || flags != 0) return record(cudaErrorInvalidValue);
  const auto range = pinned_range(host);
  if (!range) return record(range.error());
  *device = host;
  return cudaSuccess;
}

FB_API cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  if (!flags) return record(cudaErrorInvalidValue);
  const auto range = pinned_range(host);
  if (!range) return record(range.error());
  *flags = range->flags;
  // With unified addressing all pinned memory is mapped.
  if (range->kind == MemoryKind::host) *flags |= cudaHostAllocMapped;
  return cudaSuccess;
}
