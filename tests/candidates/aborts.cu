// problem: all_reduce_one_shot
// expect: fault
// mode: quick
// seconds: 10
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
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) { std::abort(); }
};
// [/solution]
