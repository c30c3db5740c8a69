// problem: all_reduce_one_shot
// expect: fault
// explains: the kernel executed trap | crash_device_trap.cu:17
// mode: quick
// seconds: 20
// about: A kernel traps.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void give_up() { __trap(); }

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) { give_up<<<1, 1, 0, stream>>>(); }
};
// [/solution]
