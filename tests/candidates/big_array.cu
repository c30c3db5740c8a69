// problem: all_reduce_one_shot
// expect: fault
// mode: quick
// seconds: 60
// about: An object of many gigabytes.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
char much[1ul << 36];

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) { much[args.n] = 1; }
};
// [/solution]
