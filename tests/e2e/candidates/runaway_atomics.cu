// problem: all_reduce_one_shot
// expect: budget
// explains: runaway_atomics.cu:18 | kernel count
// mode: quick
// seconds: 15
// about: Every thread of a large grid adds to one word for ever.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void count(uint32_t* word) {
  for (;;) atomicAdd_system(word, 1u);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {
    cudaMalloc(&word_, 64);
    cudaMemset(word_, 0, 64);
    cudaDeviceSynchronize();
  }
  void run(const Args& args, cudaStream_t stream) { count<<<64, 256, 0, stream>>>(word_); }

 private:
  int rank_;
  uint32_t* word_ = nullptr;
};
// [/solution]
