// Kernels for the tests of timelines: of few blocks, of many with a slow one among them, and three that never end well.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "../../../../examples/common/check.h"

constexpr int kMany = 3000, kSlow = 2777;

__global__ void few(unsigned int* words) { words[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x; }

__global__ void many(unsigned int* words) {
  unsigned int sum = 0;
  const int rounds = blockIdx.x == kSlow ? 400 : 4;
  for (int k = 0; k < rounds; ++k) sum += static_cast<volatile unsigned int*>(words)[(threadIdx.x + 32 * k) % 1024];
  words[1024 + blockIdx.x] = sum;
}

__global__ void waits(volatile unsigned int* flag) {
  while (*flag == 0) continue;
}

__global__ void stores_outside(unsigned int* words) {
  if (blockIdx.x == 1) words[uint64_t{1} << 40] = 1;
}

__global__ void counts_for_ever(volatile unsigned int* word) {
  for (unsigned int i = 1; i != 0; i += 2) *word = i;
}

int main(int, char** arguments) {
  const char* way = arguments[1];
  unsigned int* words = nullptr;
  CHECK(cudaMalloc(&words, sizeof(unsigned int) * 8192));
  CHECK(cudaMemset(words, 0, sizeof(unsigned int) * 8192));
  few<<<8, 64>>>(words);
  if (std::strcmp(way, "ends") == 0) many<<<kMany, 32>>>(words);
  if (std::strcmp(way, "deadlock") == 0) waits<<<2, 32>>>(words + 8000);
  if (std::strcmp(way, "fault") == 0) stores_outside<<<2, 32>>>(words);
  if (std::strcmp(way, "endless") == 0) counts_for_ever<<<1, 32>>>(words);
  if (std::strcmp(way, "ends") != 0) few<<<8, 64>>>(words);
  std::puts("launched");
  std::fflush(stdout);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
