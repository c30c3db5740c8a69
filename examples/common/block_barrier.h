// A barrier of block b of all ranks: 09_flag_barrier.cu, once for each block.
//
// Blocks need not wait for other blocks where block b of every rank touches only the share of the data that belongs to
// block b. All blocks of the grid must fit on the device at once, so grids that use this are small.
#pragma once
#include "flags.h"
#include "peers.h"

constexpr int kMostBlocks = 32;

struct BlockFlags {
  unsigned int from[kMostBlocks][kMostRanks];
};

__device__ inline void block_barrier(const Peers<BlockFlags>& flags, int rank, int world, unsigned int epoch) {
  __syncthreads();
  for (int peer = static_cast<int>(threadIdx.x); peer < world; peer += static_cast<int>(blockDim.x)) {
    post_flag(&flags.of[peer]->from[blockIdx.x][rank], epoch);
  }
  for (int peer = static_cast<int>(threadIdx.x); peer < world; peer += static_cast<int>(blockDim.x)) {
    wait_flag(&flags.of[rank]->from[blockIdx.x][peer], epoch);
  }
  __syncthreads();
}
