// Launches, their limits, attributes of functions.
#pragma once
#include "row.h"

__global__ void nothing() {}

__global__ void uses_dynamic_shared(int* out) {
  extern __shared__ int bytes[];
  bytes[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (out) *out = bytes[0];
}

inline cudaError_t launch(dim3 grid, dim3 block) {
  void* arguments[] = {nullptr};
  return cudaLaunchKernel(nothing, grid, block, arguments, 0, nullptr);
}

inline cudaError_t launch_clusters(unsigned int blocks, unsigned int cluster) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(32);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, nothing);
}

inline void plain_function() {}

inline Rows launch_rows() {
  return {
      {"a launch with 0 threads", []() -> Code { return launch(dim3(1), dim3(0)); }, 9},
      {"a launch with 1025 threads", []() -> Code { return launch(dim3(1), dim3(1025)); }, 9},
      {"a launch with 65 threads in z", []() -> Code { return launch(dim3(1), dim3(1, 1, 65)); }, 9},
      {"a launch with 0 blocks", []() -> Code { return launch(dim3(0), dim3(32)); }, 9},
      {"a launch with 65536 blocks in y", []() -> Code { return launch(dim3(1, 65536), dim3(32)); }, 9},
      {"kernel<<<>>> tells its failure by cudaGetLastError",
       []() -> Code {
         nothing<<<1, 2000>>>();
         return cudaGetLastError();
       },
       9},
      {"cudaGetLastError tells a failure once",
       []() -> Code {
         nothing<<<1, 2000>>>();
         cudaGetLastError();
         return cudaGetLastError();
       },
       0},
      {"dynamic shared memory above 48 KiB without asking",
       []() -> Code {
         uses_dynamic_shared<<<1, 32, 64 * 1024>>>(nullptr);
         return cudaGetLastError();
       },
       1},
      {"dynamic shared memory above what was asked for",
       []() -> Code {
         cudaFuncSetAttribute(uses_dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
         uses_dynamic_shared<<<1, 32, 96 * 1024>>>(nullptr);
         const cudaError_t error = cudaGetLastError();
         cudaFuncSetAttribute(uses_dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024);
         return error;
       },
       1},
      {"asking for more shared memory than a block can have",
       []() -> Code {
         return cudaFuncSetAttribute(uses_dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20);
       },
       1},
      {"a cooperative launch that does not fit",
       []() -> Code {
         void* arguments[] = {nullptr};
         return cudaLaunchCooperativeKernel(nothing, dim3(1 << 20), dim3(1024), arguments, 0, nullptr);
       },
       720},
      {"a cluster of 64 blocks", []() -> Code { return launch_clusters(64, 64); }, 912},
      {"clusters that do not divide the grid", []() -> Code { return launch_clusters(7, 2); }, 912, 9},
      {"cudaLaunchKernel of null",
       []() -> Code {
         void* arguments[] = {nullptr};
         return cudaLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(32), arguments, 0, nullptr);
       },
       98},
      {"cudaLaunchKernel of a function of the host",
       []() -> Code {
         void* arguments[] = {nullptr};
         return cudaLaunchKernel(reinterpret_cast<const void*>(&plain_function), dim3(1), dim3(32), arguments, 0,
                                 nullptr);
       },
       98},
      {"cudaFuncGetAttributes of a function of the host",
       []() -> Code {
         cudaFuncAttributes attributes;
         return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&plain_function));
       },
       98},
      {"a launch on another device's stream",
       []() -> Code {
         if (device_count() < 2) return kNotApplicable;
         cudaSetDevice(1);
         const Stream stream;
         cudaSetDevice(0);
         nothing<<<1, 32, 0, stream>>>();
         return cudaGetLastError();
       },
       400},
  };
}
