// problem: all_reduce_one_shot
// expect: budget
// mode: quick
// seconds: 45
// about: Ignores every signal that can be ignored, and never returns.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <signal.h>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;
    for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
    for (volatile unsigned k = 0;; k = k + 1) {
    }
  }

 private:
  int rank_;
};
// [/solution]
