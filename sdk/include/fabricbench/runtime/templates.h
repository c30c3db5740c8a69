// The C++ conveniences over the C API: typed pointers, symbols by name, kernels by name.
#pragma once
#pragma GCC system_header
#include "fabricbench/runtime/graph.h"
#include "fabricbench/runtime/launch.h"
#include "fabricbench/runtime/memory.h"
#include "fabricbench/runtime/memory_async.h"

// Before the templates, whose bodies name them.
inline __host__ cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}
inline __host__ cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned int flags) {
  return cudaHostAlloc(pointer, bytes, flags);
}
inline __host__ cudaError_t cudaMallocManaged(void** pointer, size_t bytes) {
  return cudaMallocManaged(pointer, bytes, cudaMemAttachGlobal);
}
inline __host__ cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(pointer, bytes, pool, stream);
}

#define TYPED_ALLOCATION(name, PARAMETERS, ARGUMENTS) \
  template <class T>                                  \
  inline __host__ cudaError_t name PARAMETERS {       \
    return name ARGUMENTS;                            \
  }
#define AS_VOID (void**)(pointer)  // of a pointer to constants, too
TYPED_ALLOCATION(cudaMalloc, (T * *pointer, size_t bytes), (AS_VOID, bytes))
TYPED_ALLOCATION(cudaMallocHost, (T * *pointer, size_t bytes, unsigned int flags = 0), (AS_VOID, bytes, flags))
TYPED_ALLOCATION(cudaHostAlloc, (T * *pointer, size_t bytes, unsigned int flags), (AS_VOID, bytes, flags))
TYPED_ALLOCATION(cudaHostGetDevicePointer, (T * *pointer, void* host, unsigned int flags), (AS_VOID, host, flags))
TYPED_ALLOCATION(cudaMallocManaged, (T * *pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal),
                 (AS_VOID, bytes, flags))
TYPED_ALLOCATION(cudaMallocPitch, (T * *pointer, size_t* pitch, size_t width, size_t height),
                 (AS_VOID, pitch, width, height))
TYPED_ALLOCATION(cudaMallocAsync, (T * *pointer, size_t bytes, cudaStream_t stream), (AS_VOID, bytes, stream))
TYPED_ALLOCATION(cudaMallocAsync, (T * *pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
                 (AS_VOID, bytes, pool, stream))
TYPED_ALLOCATION(cudaMallocFromPoolAsync, (T * *pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
                 (AS_VOID, bytes, pool, stream))
#undef AS_VOID
#undef TYPED_ALLOCATION

template <class T>
inline __host__ cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpyToSymbol(static_cast<const void*>(&symbol), from, bytes, offset, kind);
}
template <class T>
inline __host__ cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpyFromSymbol(to, static_cast<const void*>(&symbol), bytes, offset, kind);
}
template <class T>
inline __host__ cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                    cudaStream_t stream = nullptr) {
  return cudaMemcpyToSymbolAsync(static_cast<const void*>(&symbol), from, bytes, offset, kind, stream);
}
template <class T>
inline __host__ cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return cudaGetSymbolAddress(pointer, static_cast<const void*>(&symbol));
}
template <class T>
inline __host__ cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
  return cudaGetSymbolSize(bytes, static_cast<const void*>(&symbol));
}

// Calls that end in a stream may leave it out.
inline __host__ cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
inline __host__ cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

// The form of CUDA 11: the node of an error and a log, of which there is neither.
inline __host__ cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t* error_node,
                                                 char* log, size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes > 0) *log = 0;
  return cudaGraphInstantiate(exec, graph, 0);
}

inline __host__ cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* error_node,
                                                cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info = {};
  const cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
  if (error_node) *error_node = info.errorNode;
  if (result) *result = info.result;
  return error;
}

namespace fabricbench {

// An argument converted to the kernel's parameter type before its address is taken.
template <class T>
struct Same {
  using type = T;
};

}  // namespace fabricbench

template <class... Parameters>
inline __host__ cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                                               typename fabricbench::Same<Parameters>::type... arguments) {
  void* pointers[sizeof...(Parameters) + 1] = {(void*)&arguments..., nullptr};
  return cudaLaunchKernelExC(config, reinterpret_cast<const void*>(kernel), pointers);
}
template <class T>
inline __host__ cudaError_t cudaLaunchKernel(T* kernel, dim3 grid, dim3 block, void** arguments,
                                             size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared_bytes, stream);
}
template <class T>
inline __host__ cudaError_t cudaLaunchCooperativeKernel(T* kernel, dim3 grid, dim3 block, void** arguments,
                                                        size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared_bytes,
                                     stream);
}
template <class T>
inline __host__ cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class T>
inline __host__ cudaError_t cudaFuncSetCacheConfig(T* kernel, cudaFuncCache config) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), config);
}
template <class T>
inline __host__ cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* kernel) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <class T>
inline __host__ cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, T* kernel) {
  return cudaGetFuncBySymbol(function, reinterpret_cast<const void*>(kernel));
}
template <class T>
inline __host__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T kernel, int block_size,
                                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel), block_size,
                                                       shared_bytes);
}
template <class T>
inline __host__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T kernel,
                                                                                   int block_size, size_t shared_bytes,
                                                                                   unsigned int flags) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, reinterpret_cast<const void*>(kernel),
                                                                block_size, shared_bytes, flags);
}
template <class T>
inline __host__ cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, T* kernel, const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxActiveClusters(clusters, reinterpret_cast<const void*>(kernel), config);
}

// The block size that fills a multiprocessor best, and the smallest grid that fills the device with it;
// shared_of(threads) is the dynamic shared memory of a block.
template <class Shared, class T>
inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid_size, int* block_size, T kernel,
                                                                           Shared shared_of, int limit = 0) {
  int device = 0, multiprocessors = 0, best_threads = 0;
  cudaFuncAttributes attributes;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return error;
  error = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
  if (error != cudaSuccess) return error;
  const int most = limit > 0 && limit < attributes.maxThreadsPerBlock ? limit : attributes.maxThreadsPerBlock;
  for (int threads = most / 32 * 32; threads > 0; threads -= 32) {
    int blocks = 0;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_of(threads));
    if (error != cudaSuccess) return error;
    if (blocks * threads <= best_threads) continue;
    best_threads = blocks * threads;
    *block_size = threads;
    *grid_size = blocks * multiprocessors;
  }
  return cudaSuccess;
}
template <class Shared, class T>
inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* grid_size, int* block_size,
                                                                                    T kernel, Shared shared_of,
                                                                                    int limit = 0, unsigned int = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid_size, block_size, kernel, shared_of, limit);
}
template <class T>
inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, T kernel,
                                                               size_t shared_bytes = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid_size, block_size, kernel, [=](int) { return shared_bytes; }, limit);
}
template <class T>
inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid_size, int* block_size, T kernel,
                                                                        size_t shared_bytes = 0, int limit = 0,
                                                                        unsigned int = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid_size, block_size, kernel, shared_bytes, limit);
}
