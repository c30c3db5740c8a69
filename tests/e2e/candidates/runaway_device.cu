// problem: all_reduce_one_shot
// expect: budget
// explains: kernel count
// mode: quick
// seconds: 45
// about: A kernel counts for ever.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void count(volatile float* out) {
  for (unsigned k = 0;; ++k) *out = static_cast<float>(k);
}

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) { count<<<1, 1, 0, stream>>>(args.out); }
};
// [/solution]
