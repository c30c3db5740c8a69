// problem: all_reduce_one_shot
// expect: budget
// explains: requests: a loop that does not end
// mode: quick
// seconds: 15
// about: Empty kernels are launched for ever.
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
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args& args, cudaStream_t stream) {
    for (;;) nothing<<<1, 1, 0, stream>>>();
  }

 private:
  int rank_;
};
// [/solution]
