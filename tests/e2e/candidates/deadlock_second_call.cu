// problem: all_reduce_one_shot
// expect: deadlock
// explains: epochs differ | launch 1 has left it there
// mode: quick
// seconds: 20
// about: Flags without epochs, reset by the last rank: the second call waits for ever.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kThreads = 256;

// A barrier of all ranks: thread p of the only block exchanges flags with rank p.
__device__ void barrier(const Peers<uint32_t>& flags, int rank, int world, uint32_t epoch) {
  __syncthreads();
  if (const int peer = threadIdx.x; peer < world) {
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    Flag(flags.of[peer][rank]).store(epoch, cuda::memory_order_release);
    while (Flag(flags.of[rank][peer]).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
}

__global__ void sum_all(Peers<uint32_t> flags, Peers<const float> in, float* out, int64_t n, int rank, int world) {
  __shared__ uint32_t before;
  if (threadIdx.x == 0) before = flags.of[rank][rank];
  __syncthreads();
  if (before != 0) {  // thinks that it has been here before, and waits until it is cleared
    if (threadIdx.x == 0) {
      while (cuda::atomic_ref<uint32_t, cuda::thread_scope_system>(flags.of[rank][rank]).load() != 0) {
      }
    }
    __syncthreads();
  }
  barrier(flags, rank, world, 1);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    float sum = 0;
    for (int peer = 0; peer < world; ++peer) sum += in.of[peer][i];
    out[i] = sum;
  }
  barrier(flags, rank, world, 2);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, 4 * rank.world()), inputs_(rank, args.in) {}
  void run(const Args& args, cudaStream_t stream) {
    sum_all<<<1, kThreads, 0, stream>>>(flags_.peers<uint32_t>(), inputs_.peers<const float>(), args.out, args.n, rank_,
                                        world_);
  }

 private:
  int rank_, world_;
  fabricbench::PeerMemory flags_, inputs_;
};
// [/solution]
