// problem: all_reduce_one_shot
// expect: budget
// explains: kernel chat
// mode: quick
// seconds: 15
// about: A kernel prints for ever.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cstdio>
__global__ void chat() {
  for (unsigned k = 0;; ++k) printf("%u\n", k);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args& args, cudaStream_t stream) { chat<<<1, 32, 0, stream>>>(); }

 private:
  int rank_;
};
// [/solution]
