// What device code may call of the runtime.
#pragma once
#include "cuda_runtime_api.h"

#if defined(__CUDA__) && defined(__cplusplus)
#include "fabricbench/device/runtime.h"

// Of CUDA 11, for headers that name them, such as cub's: nothing defines them, and a module that calls one says so.
extern "C" {
__device__ cudaError_t __cudaDeviceSynchronizeDeprecationAvoidance(void);
__device__ void* cudaGetParameterBuffer(size_t alignment, size_t size);
__device__ cudaError_t cudaLaunchDevice(void* function, void* parameters, dim3 grid, dim3 block,
                                        unsigned int shared_bytes, cudaStream_t stream);
}
#endif
