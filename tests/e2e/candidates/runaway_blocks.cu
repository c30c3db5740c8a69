// problem: all_reduce_one_shot
// expect: budget
// explains: kernel nothing
// mode: quick
// seconds: 15
// about: A grid of two thousand million empty blocks, in three dimensions.
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
  void run(const Args& args, cudaStream_t stream) { nothing<<<dim3(65536, 32767), 64, 0, stream>>>(); }

 private:
  int rank_;
};
// [/solution]
