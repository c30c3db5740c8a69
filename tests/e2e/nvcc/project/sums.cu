#include "ripples.h"

// Another `offset` than that of weights.cu.
static __device__ float offset = 0.25f;
extern __shared__ float partial[];

static __global__ void add(int first, int count, float* sum) {
  const int k = static_cast<int>(threadIdx.x);
  partial[k] = k < count ? chosen(static_cast<float>(first + k)) + twice(offset) : 0.0f;
  __syncthreads();
  if (k != 0) return;
  for (int other = 0; other < static_cast<int>(blockDim.x); ++other) *sum += partial[other];
}

cudaError_t weighed_sum(int first, int count, float* sum) {
  float* on_device = nullptr;
  cudaError_t e = cudaMalloc(&on_device, sizeof *on_device);
  if (e != cudaSuccess) return e;
  cudaMemset(on_device, 0, sizeof *on_device);
  add<<<1, 64, 64 * sizeof(float)>>>(first, count, on_device);
  e = cudaMemcpy(sum, on_device, sizeof *sum, cudaMemcpyDeviceToHost);
  cudaFree(on_device);
  return e;
}
