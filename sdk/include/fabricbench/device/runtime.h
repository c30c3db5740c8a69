// What kernels may call of the runtime: launches (written <<<>>> in sources, and rewritten to launch_kernel below),
// streams, events, copies, fills and the device's heap. The names that these become in PTX are nvcc's.
#pragma once
#pragma GCC system_header
#include "fabricbench/language.h"
#include "fabricbench/runtime/declared.h"
#include "fabricbench/runtime/device.h"
#include "fabricbench/runtime/errors.h"
#include "fabricbench/runtime/graph.h"
#include "fabricbench/runtime/memory.h"
#include "fabricbench/runtime/stream.h"
#include "vector_types.h"

extern "C" {
#define EXTERNAL(result, name, parameters) __device__ result name parameters;
#include "fabricbench/device_runtime_functions.def"
}

FABRICBENCH_DEVICE cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return __cudaCDP2DeviceGetAttribute(value, attribute, device);
}
FABRICBENCH_DEVICE cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return __cudaCDP2EventCreateWithFlags(event, flags);
}
FABRICBENCH_DEVICE cudaError_t cudaEventDestroy(cudaEvent_t event) { return __cudaCDP2EventDestroy(event); }
FABRICBENCH_DEVICE cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr) {
  return __cudaCDP2EventRecord(event, stream);
}
FABRICBENCH_DEVICE cudaError_t cudaFree(void* pointer) { return __cudaCDP2Free(pointer); }
FABRICBENCH_DEVICE cudaError_t cudaGetDevice(int* device) { return __cudaCDP2GetDevice(device); }
FABRICBENCH_DEVICE cudaError_t cudaGetDeviceCount(int* count) { return __cudaCDP2GetDeviceCount(count); }
FABRICBENCH_DEVICE const char* cudaGetErrorName(cudaError_t error) { return __cudaCDP2GetErrorName(error); }
FABRICBENCH_DEVICE const char* cudaGetErrorString(cudaError_t error) { return __cudaCDP2GetErrorString(error); }
FABRICBENCH_DEVICE cudaError_t cudaGetLastError(void) { return __cudaCDP2GetLastError(); }
FABRICBENCH_DEVICE cudaError_t cudaPeekAtLastError(void) { return __cudaCDP2PeekAtLastError(); }
FABRICBENCH_DEVICE cudaError_t cudaMalloc(void** pointer, size_t bytes) { return __cudaCDP2Malloc(pointer, bytes); }
template <class T>
FABRICBENCH_DEVICE cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return __cudaCDP2Malloc((void**)pointer, bytes);
}
FABRICBENCH_DEVICE cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                               cudaStream_t stream = nullptr) {
  return __cudaCDP2MemcpyAsync(to, from, bytes, kind, stream);
}
FABRICBENCH_DEVICE cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                                 size_t width, size_t height, cudaMemcpyKind kind,
                                                 cudaStream_t stream = nullptr) {
  return __cudaCDP2Memcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream);
}
FABRICBENCH_DEVICE cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream = nullptr) {
  return __cudaCDP2MemsetAsync(to, value, bytes, stream);
}
FABRICBENCH_DEVICE cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                                 cudaStream_t stream = nullptr) {
  return __cudaCDP2Memset2DAsync(to, pitch, value, width, height, stream);
}
FABRICBENCH_DEVICE cudaError_t cudaRuntimeGetVersion(int* version) { return __cudaCDP2RuntimeGetVersion(version); }
FABRICBENCH_DEVICE cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return __cudaCDP2StreamCreateWithFlags(stream, flags);
}
FABRICBENCH_DEVICE cudaError_t cudaStreamDestroy(cudaStream_t stream) { return __cudaCDP2StreamDestroy(stream); }
FABRICBENCH_DEVICE cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0) {
  return __cudaCDP2StreamWaitEvent(stream, event, flags);
}
FABRICBENCH_DEVICE void* cudaGetParameterBufferV2(void* kernel, dim3 grid, dim3 block, unsigned int shared_bytes) {
  return __cudaCDP2GetParameterBufferV2(kernel, grid, block, shared_bytes);
}
FABRICBENCH_DEVICE cudaError_t cudaLaunchDeviceV2(void* parameters, cudaStream_t stream) {
  return __cudaCDP2LaunchDeviceV2(parameters, stream);
}

namespace fabricbench {

// The address of a kernel, for device code. clang refuses to name a kernel in a device function; a static member's
// initial value is in none.
template <auto kKernel>
struct KernelAddress {
  static constexpr auto value = kKernel;
};

// A launch whose arguments are to come: `launch_kernel<kernel>(grid, block, bytes, stream)(arguments…)`.
template <auto kKernel, class Type = decltype(kKernel)>
struct KernelLaunch;
template <auto kKernel, class... Parameters>
struct KernelLaunch<kKernel, void (*)(Parameters...)> {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;

  __host__ __device__ void operator()(Parameters... arguments) const {
#if defined(__CUDA_ARCH__)
    void* const kernel = (void*)KernelAddress<kKernel>::value;
    char* const buffer = (char*)__cudaCDP2GetParameterBufferV2(kernel, grid, block, (unsigned int)shared_bytes);
    if (!buffer) return;
    size_t at = 0;
    ((store(buffer, at, arguments)), ...);
    __cudaCDP2LaunchDeviceV2(buffer, stream);
#else
    void* pointers[sizeof...(Parameters) + 1] = {(void*)&arguments..., nullptr};
    cudaLaunchKernel((const void*)KernelAddress<kKernel>::value, grid, block, pointers, shared_bytes, stream);
#endif
  }

 private:
  // As the parameters of a kernel are laid out.
  template <class T>
  static __device__ void store(char* buffer, size_t& at, const T& argument) {
    at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
    __builtin_memcpy(buffer + at, &argument, sizeof(T));
    at += sizeof(T);
  }
};

template <auto kKernel>
__host__ __device__ KernelLaunch<kKernel> launch_kernel(dim3 grid, dim3 block, size_t shared_bytes = 0,
                                                        cudaStream_t stream = nullptr) {
  return {grid, block, shared_bytes, stream};
}

// A kernel that the arguments of a launch choose: the type of `kernel_chosen_(arguments…)`, declared beside the kernel.
template <class Type, Type kKernel>
struct ChosenKernel {
  using Launch = KernelLaunch<kKernel, Type>;
};
template <class Chosen>
__host__ __device__ typename Chosen::Launch launch_chosen(dim3 grid, dim3 block, size_t shared_bytes = 0,
                                                          cudaStream_t stream = nullptr) {
  return {grid, block, shared_bytes, stream};
}

}  // namespace fabricbench
