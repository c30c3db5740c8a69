// Allocations, copies, fills, symbols, host memory, handles for other processes.
#pragma once
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "row.h"

__device__ int device_variable;
inline int host_variable;

inline Rows memory_rows() {
  return {
      {"cudaMalloc of more than there is",
       []() -> Code {
         void* pointer = nullptr;
         return cudaMalloc(&pointer, size_t{1} << 50);
       },
       2},
      {"cudaMalloc into null", []() -> Code { return cudaMalloc(static_cast<void**>(nullptr), 16); }, 1},
      {"cudaMemPoolGetAccess from the host",
       []() -> Code {
         cudaMemPool_t pool = nullptr;
         cudaDeviceGetDefaultMemPool(&pool, 0);
         cudaMemLocation host{};
         host.type = cudaMemLocationTypeHost;
         cudaMemAccessFlags flags;
         return cudaMemPoolGetAccess(&flags, pool, &host);
       },
       1},
      {"cudaMemPoolGetAccess from another device gives none",
       []() -> Code {
         cudaMemPool_t pool = nullptr;
         cudaDeviceGetDefaultMemPool(&pool, 0);
         cudaMemLocation peer{};
         peer.type = cudaMemLocationTypeDevice;
         peer.id = 1;
         cudaMemAccessFlags flags = cudaMemAccessFlagsProtReadWrite;
         const cudaError_t error = cudaMemPoolGetAccess(&flags, pool, &peer);
         return flags == cudaMemAccessFlagsProtNone ? error : cudaErrorUnknown;
       },
       0},
      {"cudaFree twice",
       []() -> Code {
         void* pointer = nullptr;
         cudaMalloc(&pointer, 4096);
         cudaFree(pointer);
         return cudaFree(pointer);
       },
       1},
      {"cudaFree of the middle of an allocation",
       []() -> Code {
         const Buffer buffer;
         return cudaFree(buffer.at(256));
       },
       1},
      {"cudaFree of pageable host memory",
       []() -> Code {
         void* pointer = std::malloc(64);
         const cudaError_t error = cudaFree(pointer);
         std::free(pointer);
         return error;
       },
       1},
      {"cudaFreeHost of device memory",
       []() -> Code {
         const Buffer buffer;
         return cudaFreeHost(buffer.pointer);
       },
       1},
      {"cudaMallocManaged of 0 bytes",
       []() -> Code {
         void* pointer = nullptr;
         return cudaMallocManaged(&pointer, 0, cudaMemAttachGlobal);
       },
       1},
      {"cudaMallocManaged with unknown flags",
       []() -> Code {
         void* pointer = nullptr;
         return cudaMallocManaged(&pointer, 64, 0x77);
       },
       1},
      {"cudaMemcpy of no kind",
       []() -> Code {
         const Buffer buffer;
         char host[16] = {};
         return cudaMemcpy(buffer.pointer, host, 16, static_cast<cudaMemcpyKind>(7));
       },
       21},
      {"cudaMemcpy from pageable memory, said to be on the device",
       []() -> Code {
         const Buffer buffer;
         char host[16] = {};
         return cudaMemcpy(buffer.pointer, host, 16, cudaMemcpyDeviceToDevice);
       },
       1},
      {"cudaMemcpy to null",
       []() -> Code {
         char host[16] = {};
         return cudaMemcpy(nullptr, host, 16, cudaMemcpyHostToDevice);
       },
       1},
      {"cudaMemcpy from null",
       []() -> Code {
         char host[16] = {};
         return cudaMemcpy(host, nullptr, 16, cudaMemcpyDeviceToHost);
       },
       1},
      {"cudaMemcpy beyond the end",
       []() -> Code {
         const Buffer from(2 << 20), to(2 << 20);
         return cudaMemcpy(to.pointer, from.pointer, size_t{1} << 40, cudaMemcpyDeviceToDevice);
       },
       1},
      {"cudaMemcpy2D with a pitch below the width",
       []() -> Code {
         const Buffer from, to;
         return cudaMemcpy2D(to.pointer, 16, from.pointer, 64, 32, 2, cudaMemcpyDeviceToDevice);
       },
       12},
      {"cudaMemcpyPeer to no device",
       []() -> Code {
         const Buffer from, to;
         return cudaMemcpyPeer(to.pointer, 999, from.pointer, 0, 16);
       },
       101},
      {"cudaMemset of null", []() -> Code { return cudaMemset(nullptr, 0, 16); }, 1},
      {"cudaMemset beyond the end",
       []() -> Code {
         const Buffer buffer;
         return cudaMemset(buffer.pointer, 0, size_t{1} << 40);
       },
       1},
      {"cudaMemcpyToSymbol to a variable of the host",
       []() -> Code {
         const int value = 1;
         return cudaMemcpyToSymbol(static_cast<const void*>(&host_variable), &value, 4, 0, cudaMemcpyHostToDevice);
       },
       13},
      {"cudaGetSymbolAddress of a variable of the host",
       []() -> Code {
         void* pointer = nullptr;
         return cudaGetSymbolAddress(&pointer, static_cast<const void*>(&host_variable));
       },
       13},
      {"cudaMemcpyToSymbol beyond the symbol's end",
       []() -> Code {
         const int values[2] = {};
         return cudaMemcpyToSymbol(device_variable, values, sizeof values);
       },
       1},
      {"cudaHostRegister twice",
       []() -> Code {
         void* pages = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         cudaHostRegister(pages, 8192, cudaHostRegisterDefault);
         const cudaError_t error = cudaHostRegister(pages, 8192, cudaHostRegisterDefault);
         cudaHostUnregister(pages);
         munmap(pages, 8192);
         return error;
       },
       712},
      {"cudaHostRegister of null", []() -> Code { return cudaHostRegister(nullptr, 4096, cudaHostRegisterDefault); },
       1},
      {"cudaHostUnregister of what was not registered",
       []() -> Code {
         void* pages = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         const cudaError_t error = cudaHostUnregister(pages);
         munmap(pages, 4096);
         return error;
       },
       713},
      {"cudaHostGetDevicePointer of pageable memory",
       []() -> Code {
         void* pointer = nullptr;
         return cudaHostGetDevicePointer(&pointer, &host_variable, 0);
       },
       1},
      {"cudaHostGetFlags of pageable memory",
       []() -> Code {
         unsigned int flags = 0;
         return cudaHostGetFlags(&flags, &host_variable);
       },
       1},
      {"cudaHostAlloc with unknown flags",
       []() -> Code {
         void* pointer = nullptr;
         return cudaHostAlloc(&pointer, 64, 0x100);
       },
       1},
      {"cudaIpcCloseMemHandle of what was not opened",
       []() -> Code {
         const Buffer buffer;
         return cudaIpcCloseMemHandle(buffer.pointer);
       },
       1},
      {"cudaIpcOpenMemHandle of garbage",
       []() -> Code {
         cudaIpcMemHandle_t handle;
         std::memset(&handle, 0x5a, sizeof handle);
         void* pointer = nullptr;
         return cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess);
       },
       1, 400},
      {"cudaIpcOpenMemHandle of one's own memory",
       []() -> Code {
         const Buffer buffer(2 << 20);
         cudaIpcMemHandle_t handle;
         cudaIpcGetMemHandle(&handle, buffer.pointer);
         void* pointer = nullptr;
         return cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess);
       },
       201},
      {"cudaIpcGetMemHandle of pinned host memory",
       []() -> Code {
         const Pinned pinned;
         cudaIpcMemHandle_t handle;
         return cudaIpcGetMemHandle(&handle, pinned.pointer);
       },
       1},
      {"cudaFreeAsync of no allocation",
       []() -> Code { return cudaFreeAsync(reinterpret_cast<void*>(0x1000), nullptr); }, 1},
      {"cudaMallocArray of three channels",
       []() -> Code {
         const cudaChannelFormatDesc format = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
         cudaArray_t array = nullptr;
         return cudaMallocArray(&array, &format, 4, 4);
       },
       20},
      {"cudaFreeArray of null", []() -> Code { return cudaFreeArray(nullptr); }, 0},
      {"cudaFreeArray of no array", []() -> Code { return cudaFreeArray(reinterpret_cast<cudaArray_t>(64)); }, 400},
      {"cudaCreateTextureObject of nothing",
       []() -> Code { return cudaCreateTextureObject(nullptr, nullptr, nullptr, nullptr); }, 1},
      {"a texture that filters integers",
       []() -> Code {
         void* memory = nullptr;
         cudaMalloc(&memory, 4096);
         cudaResourceDesc resource{};
         resource.resType = cudaResourceTypePitch2D;
         resource.res.pitch2D.devPtr = memory;
         resource.res.pitch2D.desc = cudaCreateChannelDesc<int>();
         resource.res.pitch2D.width = resource.res.pitch2D.height = 8;
         resource.res.pitch2D.pitchInBytes = 32;
         cudaTextureDesc how{};
         how.filterMode = cudaFilterModeLinear;
         cudaTextureObject_t texture = 0;
         return cudaCreateTextureObject(&texture, &resource, &how, nullptr);
       },
       26},
  };
}
