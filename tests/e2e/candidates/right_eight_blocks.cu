// problem: all_reduce_one_shot
// expect: pass
// mode: quick
// seconds: 20
// about: Right, in eight blocks; each has a barrier with the same block of all other ranks.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

constexpr int kBlocks = 8, kThreads = 128, kMostWorld = 8;

__device__ void barrier(const Peers<uint32_t>& flags, int rank, int world, uint32_t epoch) {
  __syncthreads();
  if (threadIdx.x < world)
    Flag(flags.of[threadIdx.x][blockIdx.x * kMostWorld + rank]).store(epoch, cuda::memory_order_release);
  uint32_t* own = flags.of[rank] + blockIdx.x * kMostWorld;
  if (threadIdx.x < world) {
    while (Flag(own[threadIdx.x]).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
}

__global__ void sum_all(Peers<uint32_t> flags, Peers<const float> in, float* out, int64_t n, int rank, int world,
                        uint32_t epoch) {
  barrier(flags, rank, world, 2 * epoch - 1);
  for (int64_t i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kBlocks * kThreads) {
    float sum = 0;
    for (int p = 0; p < world; ++p) sum += in.of[p][i];
    out[i] = sum;
  }
  barrier(flags, rank, world, 2 * epoch);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(uint32_t) * kBlocks * kMostWorld * 2),
        in_(rank, args.in) {}
  void run(const Args& args, cudaStream_t stream) {
    sum_all<<<kBlocks, kThreads, 0, stream>>>(flags_.peers<uint32_t>(), in_.peers<const float>(), args.out, args.n,
                                              rank_, world_, ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, in_;
};
// [/solution]
