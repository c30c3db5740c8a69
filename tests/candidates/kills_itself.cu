// problem: all_reduce_one_shot
// expect: fault
// mode: quick
// seconds: 10
// about: Sends SIGKILL to itself.
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
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) { raise(SIGKILL); }
};
// [/solution]
