#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps, kBlocks = 132;
constexpr int kMostExperts = 256;

// A logit and its expert as one number: larger ones come first, of equal ones the lower expert. 0 is none.
__device__ uint32_t key_of(__nv_bfloat16 logit, int expert) {
  const uint32_t bits = __bfloat16_as_ushort(logit);
  return (bits ^ (bits & 0x8000 ? 0xFFFF : 0x8000)) << 16 | static_cast<uint32_t>(0xFFFF - expert);
}

// A warp for each token, and kEach experts for each of its lanes. totals: [counts, sums of the softmax][experts].
template <int kEach>
__global__ void add_tokens(const __nv_bfloat16* logits, float* totals, int64_t tokens, int experts, int top_k) {
  __shared__ float of_block[2][kMostExperts];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) of_block[0][e] = of_block[1][e] = 0;
  __syncthreads();

  float counts[kEach] = {}, sums[kEach] = {};
  for (int64_t t = int64_t{blockIdx.x} * kWarps + warp; t < tokens; t += int64_t{gridDim.x} * kWarps) {
    float p[kEach];
    uint32_t keys[kEach];
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int e = lane + j * kWarp;
      p[j] = 0;
      keys[j] = 0;
      if (e < experts) {
        const __nv_bfloat16 logit = logits[t * experts + e];
        p[j] = __expf(__bfloat162float(logit));
        keys[j] = key_of(logit, e);
      }
      sum += p[j];
    }
    for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
#pragma unroll
    for (int j = 0; j < kEach; ++j) sums[j] += __fdividef(p[j], sum);
    for (int k = 0; k < top_k; ++k) {
      uint32_t best = 0;
#pragma unroll
      for (int j = 0; j < kEach; ++j) best = max(best, keys[j]);
      best = __reduce_max_sync(~0u, best);
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        if (keys[j] != best) continue;
        counts[j] += 1;
        keys[j] = 0;
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int e = lane + j * kWarp;
    if (e >= experts) continue;
    atomicAdd(&of_block[0][e], counts[j]);
    atomicAdd(&of_block[1][e], sums[j]);
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) {
    atomicAdd(totals + e, of_block[0][e]);
    atomicAdd(totals + experts + e, of_block[1][e]);
  }
}

// One block, with a thread for each expert.
__global__ void finish(const float* totals, float* fraction, float* probability, float* loss, int experts, float tokens,
                       float top_k) {
  __shared__ float of_warp[kMostExperts / kWarp];
  const int e = static_cast<int>(threadIdx.x);
  float product = 0;
  if (e < experts) {
    const float f = totals[e] / (tokens * top_k), p = totals[experts + e] / tokens;
    fraction[e] = f;
    probability[e] = p;
    product = f * p;
  }
  for (int step = kWarp / 2; step > 0; step /= 2) product += __shfl_down_sync(~0u, product, step);
  if (e % kWarp == 0) of_warp[e / kWarp] = product;
  __syncthreads();
  if (e != 0) return;
  product = 0;
  for (const float part : of_warp) product += part;
  *loss = static_cast<float>(experts) * product;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&totals_, 2 * static_cast<size_t>(args.experts) * sizeof(float)));
  }
  ~Solution() { cudaFree(totals_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto experts = static_cast<int>(args.experts), top_k = static_cast<int>(args.top_k);
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.tokens + kWarps - 1) / kWarps));
    const size_t count = 2 * static_cast<size_t>(experts);
    fabricbench::check_cuda(cudaMemsetAsync(totals_, 0, count * sizeof(float), stream));
    const auto add = experts <= kWarp ? add_tokens<1> : experts <= 4 * kWarp ? add_tokens<4> : add_tokens<8>;
    add<<<blocks, kThreads, 0, stream>>>(args.logits, totals_, args.tokens, experts, top_k);
    fabricbench::check_nccl(ncclAllReduce(totals_, totals_, count, ncclFloat, ncclSum, comm_, stream));
    finish<<<1, kMostExperts, 0, stream>>>(totals_, args.fraction, args.probability, args.loss, experts,
                                           static_cast<float>(args.tokens * world_), static_cast<float>(top_k));
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  float* totals_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the routing, the exchange and the loss
//|   }
//| };
// [/solution]
