// problem: all_reduce_one_shot
// expect: fault
// explains: a rank left in start
// mode: quick
// seconds: 20
// about: Leaves before the harness has begun.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <unistd.h>
#include <cstdlib>
#include <cstring>

__attribute__((constructor)) void leave() {
  if (std::strcmp(std::getenv("RANK"), "1") == 0) _exit(0);
}

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {}
};
// [/solution]
