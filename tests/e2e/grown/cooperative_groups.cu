// Tiles that reduce by shuffles and share results through memory, and a barrier of the grid between two phases.
//
// class: unordered
// also: intra-warp conflict
// lines: write read
#include <cooperative_groups.h>

#include "grown.h"

namespace cg = cooperative_groups;
constexpr int kThreads = 64, kBlocks = 4;

__global__ void phases(int* partial, int* out) {
  const auto grid = cg::this_grid();
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  __shared__ int of_tile[kThreads / 32];
  int value = static_cast<int>(grid.thread_rank());
  for (int offset = 16; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
  if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = value;
  block.sync();
  if (block.thread_rank() == 0) partial[blockIdx.x] = of_tile[0] + of_tile[1];  // [write]
#ifndef MISTAKE
  grid.sync();
#endif
  int sum = 0;
  for (int b = 0; b < kBlocks; ++b) sum += partial[b];  // [read]
  out[grid.thread_rank()] = sum;
}

int main() {
  int *partial = zeroed<int>(kBlocks), *out = zeroed<int>(kBlocks * kThreads);
  void* arguments[] = {&partial, &out};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(phases), kBlocks, kThreads, arguments, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  constexpr int kAll = kBlocks * kThreads;
#ifndef MISTAKE
  for (const int sum : read(out, kAll)) expect(sum, kAll * (kAll - 1) / 2, "sum");
#endif
  std::puts("OK tiles, blocks and the grid");
}
