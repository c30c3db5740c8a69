// problem: all_reduce_one_shot
// expect: budget
// explains: computed on the host | in construct
// mode: quick
// seconds: 45
// about: The constructor of rank 1 never returns.
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
    for (volatile unsigned k = 0; rank.rank() == 1; k = k + 1) {
    }
  }
  void run(const Args& args, cudaStream_t stream) {}
};
// [/solution]
