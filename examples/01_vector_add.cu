// Vector addition: the life of every CUDA program.
//
// Teaches: allocate on the device, copy in, launch a grid, copy out, free.
// Watch out: a launch returns before the kernel has run. cudaGetLastError() says whether the launch was accepted;
// whether the kernel itself went well is known only after the next call that waits, here cudaMemcpy.
//
// Run: fabricbench exec --platform h100x8 --ranks 1 examples/01_vector_add.cu
//  or: nvcc -arch=sm_90 -std=c++17 examples/01_vector_add.cu -o vector_add && ./vector_add
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/check.h"

// The grid has at least n threads, not exactly n: the last block is usually not full.
__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

int main() {
  constexpr int kCount = 100003;
  constexpr size_t kBytes = kCount * sizeof(float);
  std::vector<float> a(kCount), b(kCount), sum(kCount);
  for (int i = 0; i < kCount; ++i) {
    a[i] = 0.5f * i;
    b[i] = 1000.0f - i;
  }

  float *device_a = nullptr, *device_b = nullptr, *device_sum = nullptr;
  CHECK(cudaMalloc(&device_a, kBytes));
  CHECK(cudaMalloc(&device_b, kBytes));
  CHECK(cudaMalloc(&device_sum, kBytes));
  CHECK(cudaMemcpy(device_a, a.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), kBytes, cudaMemcpyHostToDevice));

  constexpr int kThreads = 256;
  add<<<(kCount + kThreads - 1) / kThreads, kThreads>>>(device_a, device_b, device_sum, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(sum.data(), device_sum, kBytes, cudaMemcpyDeviceToHost));

  for (int i = 0; i < kCount; ++i) {
    if (sum[i] != a[i] + b[i]) fail("sum[%d] is %g, expected %g", i, sum[i], a[i] + b[i]);
  }
  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));
  CHECK(cudaFree(device_sum));
  std::printf("OK vector add of %d elements\n", kCount);
}
