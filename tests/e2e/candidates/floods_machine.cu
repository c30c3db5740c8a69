// problem: all_reduce_one_shot
// expect: budget
// mode: quick
// seconds: 45
// about: Enqueues launches without end and never waits.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void nothing() {}

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {
    while (cudaPeekAtLastError() == cudaSuccess) nothing<<<1, 1, 0, stream>>>();
  }
};
// [/solution]
