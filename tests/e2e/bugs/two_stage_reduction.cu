// The last block adds up the partial sums of all blocks without having acquired them.
//
// Shipped: PyTorch before pull request 128455 ("repro requires at least 8 GPUs and running for a few minutes, so can't
// really be turned into a test"). Each block writes its partial sum, fences, and counts itself done; the block that
// counts last reads all partial sums. The fence and the atomic are a release; the atomic alone is not an acquire.
// Repaired: the thread that counted fences before the barrier of its block.
//
// class: read without acquire
// lines: write read
#include <cstdio>
#include <vector>

#include "../../examples/common/check.h"

constexpr int kBlocks = 16, kThreads = 64, kCount = kBlocks * kThreads;

__device__ float block_sum(float value) {
  __shared__ float values[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  values[t] = value;
  for (int width = kThreads / 2; width > 0; width /= 2) {
    __syncthreads();
    if (t < width) values[t] += values[t + width];
  }
  __syncthreads();
  return values[0];
}

__global__ void reduce(const float* input, float* partial, unsigned int* done, float* output) {
  __shared__ bool is_last;
  const int t = static_cast<int>(threadIdx.x);
  const float sum = block_sum(input[blockIdx.x * kThreads + t]);
  if (t == 0) {
    partial[blockIdx.x] = sum;  // [write]
    __threadfence();
  }
  __syncthreads();
  if (t == 0) {
    is_last = atomicAdd(done, 1) == gridDim.x - 1;
#ifdef REPAIRED
    __threadfence();
#endif
  }
  __syncthreads();
  if (!is_last) return;
  const float total = block_sum(t < kBlocks ? partial[t] : 0);  // [read]
  if (t == 0) *output = total;
}

int main() {
  std::vector<float> host(kCount);
  float expected = 0, total = 0;
  for (int i = 0; i < kCount; ++i) expected += host[i] = static_cast<float>(i % 13);
  float *input = nullptr, *partial = nullptr, *output = nullptr;
  unsigned int* done = nullptr;
  CHECK(cudaMalloc(&input, kCount * sizeof *input));
  CHECK(cudaMalloc(&partial, kBlocks * sizeof *partial));
  CHECK(cudaMalloc(&output, sizeof *output));
  CHECK(cudaMalloc(&done, sizeof *done));
  CHECK(cudaMemcpy(input, host.data(), kCount * sizeof *input, cudaMemcpyHostToDevice));
  for (int call = 0; call < 2; ++call) {
    CHECK(cudaMemset(partial, 0, kBlocks * sizeof *partial));
    CHECK(cudaMemset(done, 0, sizeof *done));
    reduce<<<kBlocks, kThreads>>>(input, partial, done, output);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&total, output, sizeof total, cudaMemcpyDeviceToHost));
    if (total != expected) fail("call %d: the sum is %g, expected %g", call, total, expected);
  }
  for (void* memory :
       {static_cast<void*>(input), static_cast<void*>(partial), static_cast<void*>(output), static_cast<void*>(done)}) {
    CHECK(cudaFree(memory));
  }
  std::printf("OK the sum of %d values is %g\n", kCount, total);
}
