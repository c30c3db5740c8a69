// Blocks of the same number on all GPUs wait for each other. Words grow and are never reset.
#pragma once
#include "../../../examples/common/flags.h"
#include "../../../examples/common/peers.h"

constexpr int kMostGpus = 8;

// In the memory of each GPU: a word for each block and each GPU that writes it.
struct Words {
  static constexpr int kMostBlocks = 256;
  unsigned int of[kMostBlocks][kMostGpus];
};

struct PeerBarrier {
  Words* words[kMostGpus];
  int rank, world;

  PeerBarrier(const Peers<Words>& peers, int rank, int world) : rank(rank), world(world) {
    for (int k = 0; k < world; ++k) words[k] = peers.of[k];
  }

  // One thread for each peer signals it and waits for it. Writes of the block before are visible to the peers after.
  __device__ void sync(unsigned int epoch) const {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned int>(world)) {
      post_flag(&words[threadIdx.x]->of[blockIdx.x][rank], epoch);
      wait_flag(&words[rank]->of[blockIdx.x][threadIdx.x], epoch);
    }
    __syncthreads();
  }

  // The same with volatile flags, which order nothing: enough where the data was written by an earlier kernel.
  __device__ void sync_without_fences(unsigned int epoch) const {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned int>(world)) {
      volatile unsigned int* const theirs = &words[threadIdx.x]->of[blockIdx.x][rank];
      volatile unsigned int* const mine = &words[rank]->of[blockIdx.x][threadIdx.x];
      *theirs = epoch;
      while (static_cast<int>(*mine - epoch) < 0) continue;
    }
    __syncthreads();
  }
};
