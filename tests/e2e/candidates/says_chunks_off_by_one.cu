// problem: all_to_all
// expect: wrong
// mode: quick
// seconds: 30
// explains: The chunks are off by one
// about: Puts its chunk one place too far.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

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

__global__ void exchange(Peers<uint32_t> flags, const float* in, Peers<float> out, int64_t n, int rank, int world,
                         uint32_t epoch) {
  barrier(flags, rank, world, 2 * epoch - 1);
  for (int peer = 0; peer < world; ++peer) {
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) out.of[peer][((rank + 1) % world) * n + i] = in[peer * n + i];
  }
  barrier(flags, rank, world, 2 * epoch);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        outputs_(rank, args.out) {}
  void run(const Args& args, cudaStream_t stream) {
    exchange<<<1, 256, 0, stream>>>(flags_.peers<uint32_t>(), args.in, outputs_.peers<float>(), args.n, rank_, world_,
                                    ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, outputs_;
};
// [/solution]
