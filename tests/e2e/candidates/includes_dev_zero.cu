// problem: all_reduce_one_shot
// expect: wrong
// mode: quick
// seconds: 60
// about: Includes a device without end, which the compiler takes for an empty file.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include "/dev/zero"

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {}
};
// [/solution]
