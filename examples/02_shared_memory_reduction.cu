// Reduction: the sum of an array, in three stages.
//
// Teaches: each thread sums its share of the array; a block adds its threads' sums through shared memory; the last 32
// go by warp shuffles; one atomic per block adds the blocks. Watch out: __syncthreads() must be reached by all threads
// of the block, so it is outside of `if (t < stride)`. Integers are used because their sum does not depend on the
// order; floats would differ in the last bits.
//
// Run: fabricbench exec --platform h100x8 --ranks 1 examples/02_shared_memory_reduction.cu
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/check.h"

constexpr int kThreads = 256;

__global__ void sum(const unsigned int* values, int n, unsigned int* total) {
  __shared__ unsigned int partial[kThreads];
  const unsigned int t = threadIdx.x;

  // A grid-stride loop: right for every n and every grid.
  unsigned int mine = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  partial[t] = mine;
  __syncthreads();

  for (unsigned int stride = kThreads / 2; stride >= 32; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }

  if (t < 32) {
    unsigned int warp_sum = partial[t];
    for (int lanes = 16; lanes > 0; lanes /= 2) warp_sum += __shfl_down_sync(0xffffffffu, warp_sum, lanes);
    if (t == 0) atomicAdd(total, warp_sum);
  }
}

int main() {
  for (const int count : {1, 31, 257, 100003}) {
    std::vector<unsigned int> values(count);
    unsigned int expected = 0;
    for (int i = 0; i < count; ++i) {
      values[i] = 2654435761u * static_cast<unsigned int>(i + 1);
      expected += values[i];
    }

    unsigned int *device_values = nullptr, *device_total = nullptr;
    CHECK(cudaMalloc(&device_values, count * sizeof(unsigned int)));
    CHECK(cudaMalloc(&device_total, sizeof(unsigned int)));
    CHECK(cudaMemcpy(device_values, values.data(), count * sizeof(unsigned int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_total, 0, sizeof(unsigned int)));

    sum<<<32, kThreads>>>(device_values, count, device_total);
    CHECK(cudaGetLastError());

    unsigned int total = 0;
    CHECK(cudaMemcpy(&total, device_total, sizeof total, cudaMemcpyDeviceToHost));
    if (total != expected) fail("the sum of %d values is %u, expected %u", count, total, expected);
    CHECK(cudaFree(device_values));
    CHECK(cudaFree(device_total));
  }
  std::printf("OK reduction\n");
}
