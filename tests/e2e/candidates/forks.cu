// problem: all_reduce_one_shot
// expect: rule_violation
// explains: the code uses fork
// mode: quick
// seconds: 20
// about: Forks processes that fork.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <unistd.h>

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {
    for (int k = 0; k < 6; ++k) {  // 64 processes, if it is not stopped
      if (fork() < 0) return;
    }
  }
};
// [/solution]
