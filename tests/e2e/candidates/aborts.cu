// problem: all_reduce_one_shot
// expect: fault
// explains: ended by SIGABRT in run
// mode: quick
// seconds: 20
// about: Aborts.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cstdlib>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;
    std::abort();
  }

 private:
  int rank_;
};
// [/solution]
