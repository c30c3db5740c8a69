#include "ranks/shim/cuda/memory/memory.h"

#include <algorithm>
#include <cstring>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/memory/dma_buffer.h"
#include "ranks/shim/cuda/memory/host_memory.h"
#include "ranks/shim/cuda/streams/stream.h"

using namespace fb::shim;
using fb::wire::MemoryKind;

FB_API CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return in_context([&] { return as_runtime([&] { return cudaMemGetInfo(free, total); }); });
}

FB_API CUresult cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  return in_context([&] {
    if (!pointer || bytes == 0) return cudaErrorInvalidValue;
    return put(pointer, allocate_device(bytes));
  });
}

FB_API CUresult cuMemAllocPitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                                unsigned int element) {
  return in_context([&] {
    if (!pointer || !pitch || width == 0 || height == 0) return cudaErrorInvalidValue;
    if (element != 4 && element != 8 && element != 16) return cudaErrorInvalidValue;
    void* made = nullptr;
    const Error e = as_runtime([&] { return cudaMallocPitch(&made, pitch, width, height); });
    if (e == cudaSuccess) *pointer = reinterpret_cast<CUdeviceptr>(made);
    return e;
  });
}

FB_API CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
  return in_context([&] {
    if (!pointer || bytes == 0) return cudaErrorInvalidValue;
    void* made = nullptr;
    const Error e = as_runtime([&] { return cudaMallocManaged(&made, bytes, flags); });
    if (e == cudaSuccess) *pointer = reinterpret_cast<CUdeviceptr>(made);
    return e;
  });
}

FB_API CUresult cuMemFree(CUdeviceptr pointer) {
  return in_context([&] { return free_device(pointer_of(pointer)); });
}

FB_API CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  return in_context([&] {
    if (!pointer || bytes == 0) return cudaErrorInvalidValue;
    void* made = nullptr;
    const Error e = as_runtime([&] { return cudaMallocAsync(&made, bytes, stream); });
    if (e == cudaSuccess) *pointer = reinterpret_cast<CUdeviceptr>(made);
    return e;
  });
}

FB_API CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return in_context([&] { return free_ordered(pointer_of(pointer), stream); });
}

FB_API CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
  return in_context([&] {
    const auto facts = describe(pointer_of(pointer));
    if (!facts) return facts.error();
    if (facts->kind == MemoryKind::unknown) return cudaErrorSymbolNotFound;
    if (base) *base = facts->begin;
    if (bytes) *bytes = facts->bytes;
    return cudaSuccess;
  });
}

FB_API CUresult cuMemAllocHost(void** pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }

FB_API CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return in_context([&] {
    if (!pointer || bytes == 0) return cudaErrorInvalidValue;
    return as_runtime([&] { return cudaHostAlloc(pointer, bytes, flags); });
  });
}

FB_API CUresult cuMemFreeHost(void* pointer) {
  return in_context([&] { return free_host(pointer); });
}

FB_API CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned int flags) {
  return in_context([&] {
    if (!device) return cudaErrorInvalidValue;
    void* found = nullptr;
    const Error e = as_runtime([&] { return cudaHostGetDevicePointer(&found, host, flags); });
    if (e == cudaSuccess) *device = reinterpret_cast<CUdeviceptr>(found);
    return e;
  });
}

FB_API CUresult cuMemHostGetFlags(unsigned int* flags, void* host) {
  return in_context([&] { return as_runtime([&] { return cudaHostGetFlags(flags, host); }); });
}

FB_API CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return in_context([&] { return as_runtime([&] { return cudaHostRegister(pointer, bytes, flags); }); });
}

FB_API CUresult cuMemHostUnregister(void* pointer) {
  return in_context([&] { return unregister_host(pointer); });
}

FB_API CUresult cuMemAdvise(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return in_context([&] {
    return as_runtime([&] {
      return cudaMemAdvise(pointer_of(pointer), bytes, static_cast<cudaMemoryAdvise>(advice),
                           {static_cast<cudaMemLocationType>(location.type), location.id});
    });
  });
}

FB_API CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUmemLocation location, unsigned int flags,
                                   CUstream stream) {
  return in_context([&] {
    return as_runtime([&] {
      return cudaMemPrefetchAsync(pointer_of(pointer), bytes,
                                  {static_cast<cudaMemLocationType>(location.type), location.id}, flags, stream);
    });
  });
}

// DMA-BUF, of memory of devices: its addresses and sizes are whole pages of the host.
FB_API CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr pointer, size_t bytes,
                                              CUmemRangeHandleType type, unsigned long long) {
  return in_context([&] {
    if (!handle || bytes == 0 || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) return cudaErrorInvalidValue;
    const auto facts = describe(pointer_of(pointer));
    if (!facts) return facts.error();
    if (facts->kind == MemoryKind::unknown) return cudaErrorInvalidValue;
    if (facts->kind != MemoryKind::device) return cudaErrorNotSupported;
    constexpr uint64_t kPage = 4096;
    if (pointer % kPage != 0 || bytes % kPage != 0 || pointer - facts->begin > facts->bytes ||
        bytes > (facts->bytes - (pointer - facts->begin) + kPage - 1) / kPage * kPage)
      return cudaErrorInvalidValue;
    // An allocation ends where it was asked to: the rest of its last page does not belong to it.
    return make_dma_buffer(pointer, std::min<uint64_t>(bytes, facts->bytes - (pointer - facts->begin)),
                           *static_cast<int*>(handle));
  });
}

// Other processes

FB_API CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  return in_context([&] {
    cudaIpcMemHandle_t token;
    static_assert(sizeof token == sizeof *handle);
    if (!handle) return cudaErrorInvalidValue;
    const Error e = export_memory(&token, pointer_of(pointer));
    if (e == cudaSuccess) std::memcpy(handle, &token, sizeof token);
    return e;
  });
}

FB_API CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
  return in_context([&] {
    if (!pointer || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return cudaErrorInvalidValue;
    cudaIpcMemHandle_t token;
    std::memcpy(&token, &handle, sizeof token);
    return put(pointer, import_memory(token));
  });
}

FB_API CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return in_context([&] { return close_imported(pointer_of(pointer)); });
}
