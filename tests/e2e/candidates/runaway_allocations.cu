// problem: all_reduce_one_shot
// expect: budget
// mode: quick
// seconds: 15
// about: The host allocates and frees for ever.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args& args, cudaStream_t stream) {
    for (size_t bytes = 1 << 20;; bytes = bytes * 3 % (64 << 20) + 4096) {
      void* memory = nullptr;
      if (cudaMalloc(&memory, bytes) == cudaSuccess) cudaFree(memory);
    }
  }

 private:
  int rank_;
};
// [/solution]
