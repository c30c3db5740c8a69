// problem: all_reduce_one_shot
// expect: fault|cheat
// mode: quick
// seconds: 10
// about: Closes all descriptors, that to the machine, too.
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
    for (int descriptor = 0; descriptor < 1024; ++descriptor) close(descriptor);
  }
};
// [/solution]
