// problem: all_reduce_one_shot
// expect: deadlock
// explains: missing rank | all_gather for ranks 1, 2, 3
// mode: quick
// seconds: 20
// about: Only rank 0 takes part in an exchange of the set-up.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) {
    if (rank.rank() == 0) rank.barrier();
  }
  void run(const Args&, cudaStream_t) {}
};
// [/solution]
