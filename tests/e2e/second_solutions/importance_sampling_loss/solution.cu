// A kernel adds up this rank's positions to eight floats, one all-gather of NCCL brings those of all ranks, and a
// second kernel merges them in each block, stores the results and computes the gradient.
#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>

#include <cuda/atomic>

constexpr int kThreads = 256;
constexpr int kMostBlocks = 132;  // not more than threads of a block, which merge their sums
constexpr float kLimit = 5.0f;

struct Sums {
  float gain;  // w * advantage
  float ratio;
  float divergence;
  float logprob;
  float clamped;
  float count;  // below 2^24: exact
  float least;
  float most;

  __device__ void merge(const Sums& other) {
    gain += other.gain;
    ratio += other.ratio;
    divergence += other.divergence;
    logprob += other.logprob;
    clamped += other.clamped;
    count += other.count;
    least = fminf(least, other.least);
    most = fmaxf(most, other.most);
  }
};

constexpr int kFloats = sizeof(Sums) / sizeof(float);

__device__ Sums nothing() { return {0, 0, 0, 0, 0, 0, INFINITY, -INFINITY}; }

__device__ float clamped(float x) { return fminf(kLimit, fmaxf(-kLimit, x)); }

// Of all threads of the block, in thread 0.
__device__ Sums merge_block(Sums sums) {
  __shared__ Sums of_warp[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    Sums other;
    const float* from = reinterpret_cast<const float*>(&sums);
    float* to = reinterpret_cast<float*>(&other);
#pragma unroll
    for (int i = 0; i < kFloats; ++i) to[i] = __shfl_down_sync(~0u, from[i], offset);
    sums.merge(other);
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sums;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kThreads / 32; ++warp) sums.merge(of_warp[warp]);
  }
  return sums;
}

// partial: of each block; done: blocks that have stored theirs, 0 between calls.
__global__ void add_up(Args args, Sums* partial, uint32_t* done, Sums* mine) {
  Sums sums = nothing();
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t t = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < args.tokens; t += stride) {
    if (args.mask[t] == 0) continue;  // a product with 0 would not do: what is there may be NaN
    const float x = args.new_logprob[t] - args.old_logprob[t];
    const float d = clamped(x);
    const float w = __expf(d);
    sums.merge({w * args.advantage[t], w, w - d - 1, args.new_logprob[t], fabsf(x) > kLimit ? 1.0f : 0.0f, 1, w, w});
  }
  sums = merge_block(sums);
  // Acquire and release at device scope: the block that comes last reads what the others have stored before, all its
  // threads by __syncthreads. It sets the counter to 0 for the next call, which begins behind this kernel.
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sums;
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> blocks(*done);
    last = blocks.fetch_add(1, cuda::memory_order_acq_rel) + 1 == gridDim.x;
    if (last) blocks.store(0, cuda::memory_order_relaxed);
  }
  __syncthreads();
  if (!last) return;
  sums = merge_block(threadIdx.x < gridDim.x ? partial[threadIdx.x] : nothing());
  if (threadIdx.x == 0) *mine = sums;
}

__global__ void finish(Args args, const Sums* of_ranks, int world) {
  Sums all = nothing();
  for (int r = 0; r < world; ++r) all.merge(of_ranks[r]);
  const float positions = fmaxf(all.count, 1.0f);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const bool some = all.count > 0;
    *args.loss = -all.gain / positions;
    args.metrics[0] = all.ratio / positions;
    args.metrics[1] = some ? all.least : 0;
    args.metrics[2] = some ? all.most : 0;
    args.metrics[3] = all.divergence / positions;
    args.metrics[4] = -all.logprob / positions;
    args.metrics[5] = all.clamped / positions;
    *args.count = static_cast<int64_t>(all.count);
  }
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t t = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < args.tokens; t += stride) {
    float gradient = 0;
    if (args.mask[t] != 0) {
      const float x = args.new_logprob[t] - args.old_logprob[t];
      if (fabsf(x) < kLimit) gradient = -__expf(x) * args.advantage[t] / positions;
    }
    args.dnew[t] = gradient;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    check(cudaMalloc(&partial_, kMostBlocks * sizeof(Sums)));
    check(cudaMalloc(&of_ranks_, static_cast<size_t>(world_) * sizeof(Sums)));
    check(cudaMalloc(&done_, sizeof(uint32_t)));
    check(cudaMemset(done_, 0, sizeof(uint32_t)));
    check(cudaDeviceSynchronize());
  }
  ~Solution() {
    cudaFree(partial_);
    cudaFree(of_ranks_);
    cudaFree(done_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int blocks = static_cast<int>(std::min<int64_t>(kMostBlocks, (args.tokens + kThreads - 1) / kThreads));
    // In place: this rank's part of the gathered buffer is what it sends.
    Sums* mine = of_ranks_ + rank_;
    add_up<<<blocks, kThreads, 0, stream>>>(args, partial_, done_, mine);
    fabricbench::check_nccl(ncclAllGather(mine, of_ranks_, kFloats, ncclFloat, comm_, stream));
    finish<<<blocks, kThreads, 0, stream>>>(args, of_ranks_, world_);
  }

 private:
  static void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
  }

  int rank_;
  int world_;
  fabricbench::NcclCommunicator comm_;
  Sums* partial_ = nullptr;
  Sums* of_ranks_ = nullptr;
  uint32_t* done_ = nullptr;
};
// [/solution]
