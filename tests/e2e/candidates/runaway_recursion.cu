// problem: all_reduce_one_shot
// expect: fault
// explains: nested calls | runaway_recursion.cu:19
// mode: quick
// seconds: 15
// about: A device function calls itself for ever.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__device__ __noinline__ uint32_t deeper(uint32_t x, volatile uint32_t* sink) {
  *sink = x;
  return deeper(x * 3 + 1, sink) + *sink;
}
__global__ void fall(uint32_t* sink) { *sink = deeper(threadIdx.x, sink); }

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) { cudaMalloc(&word_, 64); }
  void run(const Args& args, cudaStream_t stream) { fall<<<1, 32, 0, stream>>>(word_); }

 private:
  int rank_;
  uint32_t* word_ = nullptr;
};
// [/solution]
