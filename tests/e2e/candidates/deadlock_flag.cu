// problem: all_reduce_one_shot
// expect: deadlock
// explains: never signalled | deadlock_flag.cu:18 | a memset
// mode: quick
// seconds: 20
// about: A kernel waits for a flag that is never set.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void wait(uint32_t* flag) {
  while (cuda::atomic_ref<uint32_t, cuda::thread_scope_system>(*flag).load(cuda::memory_order_acquire) == 0) {
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : flags_(rank, 64) {}
  void run(const Args&, cudaStream_t stream) { wait<<<1, 1, 0, stream>>>(flags_.mine<uint32_t>()); }

 private:
  fabricbench::PeerMemory flags_;
};
// [/solution]
