// problem: all_reduce_one_shot
// expect: deadlock
// mode: quick
// seconds: 40
// about: A counter of calls in pinned memory, which neither the host nor a device has written.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kThreads = 256;

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

__global__ void sum_all(Peers<uint32_t> flags, Peers<const float> in, float* out, int64_t n, int rank, int world,
                        uint32_t epoch, uint32_t* calls) {
  __shared__ uint32_t call;
  if (threadIdx.x == 0) call = atomicAdd_system(calls, 1u) + 1;
  __syncthreads();
  epoch = call;
  barrier(flags, rank, world, 2 * epoch - 1);
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    float sum = 0;
    for (int peer = 0; peer < world; ++peer) sum += in.of[peer][i];
    out[i] = sum;
  }
  barrier(flags, rank, world, 2 * epoch);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, 4 * rank.world()), inputs_(rank, args.in) {
    cudaMallocHost(&calls_, 4);
  }
  ~Solution() { cudaFreeHost(calls_); }
  void run(const Args& args, cudaStream_t stream) {
    sum_all<<<1, kThreads, 0, stream>>>(flags_.peers<uint32_t>(), inputs_.peers<const float>(), args.out, args.n, rank_,
                                        world_, ++epoch_, calls_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, inputs_;
  uint32_t* calls_ = nullptr;
};
// [/solution]
