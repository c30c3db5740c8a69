// problem: all_reduce_one_shot
// expect: fault
// explains: cudaMalloc: out of memory
// mode: quick
// seconds: 20
// about: Takes memory of the device and fills all of it, without end.
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
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;

    while (true) {
      void* memory = nullptr;
      fabricbench::check_cuda(cudaMalloc(&memory, 256 << 20), "cudaMalloc");
      fabricbench::check_cuda(cudaMemsetAsync(memory, 1, 256 << 20, stream), "cudaMemsetAsync");
    }
  }

 private:
  int rank_;
};
// [/solution]
