// Every block fills the same table with the same values, and reads it behind its own barrier. Allowed by
// --allow same-value; the mistake is a value that differs between blocks.
//
// flags: --allow same-value
// class: unordered
// lines: write
#include "grown.h"

constexpr int kThreads = 64, kBlocks = 4;

__global__ void squares(int* table, int* found, int* out) {
#ifdef MISTAKE
  table[threadIdx.x] = static_cast<int>(threadIdx.x * threadIdx.x + (threadIdx.x == 5 ? blockIdx.x : 0));  // [write]
#else
  table[threadIdx.x] = static_cast<int>(threadIdx.x * threadIdx.x);
#endif
  if (table[threadIdx.x] >= 100) *found = 1;  // by many threads of each warp
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = table[kThreads - 1 - threadIdx.x];
}

int main() {
  int *table = zeroed<int>(kThreads), *found = zeroed<int>(1), *out = zeroed<int>(kThreads * kBlocks);
  squares<<<kBlocks, kThreads>>>(table, found, out);
  CHECK(cudaDeviceSynchronize());
  expect(read(found, 1)[0], 1, "found");
#ifndef MISTAKE
  const auto got = read(out, kThreads * kBlocks);
  for (int i = 0; i < kThreads * kBlocks; ++i) {
    const int from = kThreads - 1 - i % kThreads;
    expect(got[i], from * from, "out");
  }
#endif
  std::puts("OK one table, filled by all blocks");
}
