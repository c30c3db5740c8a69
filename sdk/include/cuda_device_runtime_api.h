// What device code may call of the runtime to launch kernels itself. Declared for headers that name it, such as cub's
// and thrust's; the node runs no launches of devices, and says so where a module calls one.
#pragma once
#include "cuda_runtime_api.h"

#if defined(__CUDA__) && defined(__cplusplus)
extern "C" {
__device__ cudaError_t __cudaDeviceSynchronizeDeprecationAvoidance(void);
__device__ void* cudaGetParameterBuffer(size_t alignment, size_t size);
__device__ void* cudaGetParameterBufferV2(void* function, dim3 grid, dim3 block, unsigned int shared_bytes);
__device__ cudaError_t cudaLaunchDevice(void* function, void* parameters, dim3 grid, dim3 block,
                                        unsigned int shared_bytes, cudaStream_t stream);
__device__ cudaError_t cudaLaunchDeviceV2(void* parameters, cudaStream_t stream);
}
#endif
