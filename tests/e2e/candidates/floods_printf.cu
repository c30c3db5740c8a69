// problem: all_reduce_one_shot
// expect: budget
// mode: quick
// seconds: 45
// about: A kernel prints without end.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cstdio>

__global__ void talk() {
  for (int k = 0;; ++k) printf("still here, %d\n", k);
}

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) { talk<<<1, 32, 0, stream>>>(); }
};
// [/solution]
