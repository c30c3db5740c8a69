// problem: all_reduce_one_shot
// expect: budget
// explains: kernel count
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
constexpr int kRounds = 16;

__global__ void count(float (*scratch)[kRounds][256]) {
  for (unsigned k = 0;; ++k) scratch[blockIdx.x][k % kRounds][threadIdx.x] = static_cast<float>(k);
}

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) { cudaMalloc(&scratch_, 2 * sizeof *scratch_); }
  void run(const Args&, cudaStream_t stream) { count<<<2, 256, 0, stream>>>(scratch_); }

 private:
  float (*scratch_)[kRounds][256] = nullptr;
};
// [/solution]
