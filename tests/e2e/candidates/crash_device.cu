// problem: all_reduce_one_shot
// expect: fault
// explains: out_of_bounds | crash_device.cu:17
// mode: quick
// seconds: 20
// about: A kernel stores far behind its output.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void store(float* out) { out[1ll << 32] = 1; }

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) { store<<<1, 1, 0, stream>>>(args.out); }
};
// [/solution]
