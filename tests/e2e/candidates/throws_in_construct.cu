// problem: all_reduce_one_shot
// expect: fault
// explains: construct threw: no set-up today
// mode: quick
// seconds: 20
// about: The constructor of rank 1 throws.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <stdexcept>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) {
    if (rank.rank() == 1) throw std::runtime_error("no set-up today");
  }
  void run(const Args& args, cudaStream_t stream) {}
};
// [/solution]
