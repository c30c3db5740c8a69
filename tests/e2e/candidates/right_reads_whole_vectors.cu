// problem: all_reduce_one_shot
// expect: pass
// mode: quick
// seconds: 40
// about: Reads its scratch memory in vectors of 16 bytes, of which the last may be written in part; what was not
// written is not used.
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
                        uint32_t epoch, float* scratch) {
  barrier(flags, rank, world, 2 * epoch - 1);
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    float sum = 0;
    for (int peer = 0; peer < world; ++peer) sum += in.of[peer][i];
    scratch[i] = sum;
  }
  barrier(flags, rank, world, 2 * epoch);
  for (int64_t i = threadIdx.x; i < (n + 3) / 4; i += kThreads) {
    const float4 four = reinterpret_cast<const float4*>(scratch)[i];
    const float part[4] = {four.x, four.y, four.z, four.w};
    for (int k = 0; k < 4; ++k) {
      if (4 * i + k < n) out[4 * i + k] = part[k];
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, 4 * rank.world()), inputs_(rank, args.in) {
    cudaMalloc(&scratch_, sizeof(float) * (args.n + 3));
  }
  ~Solution() { cudaFree(scratch_); }
  void run(const Args& args, cudaStream_t stream) {
    sum_all<<<1, kThreads, 0, stream>>>(flags_.peers<uint32_t>(), inputs_.peers<const float>(), args.out, args.n, rank_,
                                        world_, ++epoch_, scratch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, inputs_;
  float* scratch_ = nullptr;
};
// [/solution]
