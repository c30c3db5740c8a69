// problem: all_reduce_one_shot
// expect: compile_error
// mode: quick
// seconds: 60
// about: A file that includes itself.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include __FILE__

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {}
};
// [/solution]
