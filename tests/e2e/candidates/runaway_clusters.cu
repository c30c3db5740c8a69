// problem: all_reduce_one_shot
// expect: budget
// explains: kernel nothing
// mode: quick
// seconds: 15
// about: A large grid of empty clusters.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void __cluster_dims__(8, 1, 1) nothing() {}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args& args, cudaStream_t stream) { nothing<<<1 << 27, 32, 0, stream>>>(); }

 private:
  int rank_;
};
// [/solution]
