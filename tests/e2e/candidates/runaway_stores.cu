// problem: all_reduce_one_shot
// expect: budget
// mode: quick
// seconds: 15
// about: A kernel that writes new values for ever: it works, it does not poll.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void count(float* out, int64_t n) {
  for (unsigned k = 0;; ++k) out[(k + threadIdx.x) % n] = static_cast<float>(k);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args& args, cudaStream_t stream) { count<<<2, 256, 0, stream>>>(args.out, args.n); }

 private:
  int rank_;
};
// [/solution]
