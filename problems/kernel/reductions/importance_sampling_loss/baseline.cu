#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 256, kWarps = kThreads / kWarp, kBlocks = 132;
constexpr int kSums = 6;  // of w * advantage, w, w - d - 1, -new_logprob; of clamped positions and all that count
constexpr float kClamp = 5;

struct Ratio {
  float d, w;
  bool clamped;
  __device__ Ratio(float now, float old) {
    const float x = now - old;
    clamped = fabsf(x) > kClamp;
    d = fminf(kClamp, fmaxf(-kClamp, x));
    w = __expf(d);
  }
};

// Sums as double, so that one all-reduce takes all of them and counts are exact. Of the least ratio the negative one is
// used: the largest of those is found by the same all-reduce. Infinity stands for no ratio.
struct Totals {
  double sums[kSums];
  float extremes[2];  // the largest of w, and of -w
};

// Ratios are positive, and the bits of positive floats are in their order; of negative ones it is the reverse.
__device__ void atomic_most(float* to, float value) {
  if (value >= 0) {
    atomicMax(reinterpret_cast<int*>(to), __float_as_int(value));
  } else {
    atomicMin(reinterpret_cast<unsigned*>(to), __float_as_uint(value));
  }
}

__global__ void clear(Totals* totals) {
  for (double& sum : totals->sums) sum = 0;
  totals->extremes[0] = 0;
  totals->extremes[1] = -__int_as_float(0x7F800000);
}

__global__ void add_tokens(const float* now, const float* old, const float* advantage, const uint8_t* mask,
                           Totals* totals, int64_t tokens) {
  __shared__ float of_warp[kWarps][kSums + 2];
  float sums[kSums] = {}, largest = 0, least = __int_as_float(0x7F800000);
  for (int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x; t < tokens; t += int64_t{gridDim.x} * kThreads) {
    const float p = now[t], before = old[t], factor = advantage[t];
    if (mask[t] == 0) continue;
    const Ratio ratio(p, before);
    sums[0] += ratio.w * factor;
    sums[1] += ratio.w;
    sums[2] += ratio.w - ratio.d - 1;
    sums[3] -= p;
    sums[4] += ratio.clamped ? 1 : 0;
    sums[5] += 1;
    largest = fmaxf(largest, ratio.w);
    least = fminf(least, ratio.w);
  }
  for (int step = kWarp / 2; step > 0; step /= 2) {
#pragma unroll
    for (int k = 0; k < kSums; ++k) sums[k] += __shfl_down_sync(~0u, sums[k], step);
    largest = fmaxf(largest, __shfl_down_sync(~0u, largest, step));
    least = fminf(least, __shfl_down_sync(~0u, least, step));
  }
  const unsigned warp = threadIdx.x / kWarp;
  if (threadIdx.x % kWarp == 0) {
#pragma unroll
    for (int k = 0; k < kSums; ++k) of_warp[warp][k] = sums[k];
    of_warp[warp][kSums] = largest;
    of_warp[warp][kSums + 1] = -least;
  }
  __syncthreads();
  const unsigned k = threadIdx.x;  // a thread for each total
  if (k >= kSums + 2) return;
  float total = of_warp[0][k];
  for (int w = 1; w < kWarps; ++w) total = k < kSums ? total + of_warp[w][k] : fmaxf(total, of_warp[w][k]);
  if (k < kSums) {
    atomicAdd(&totals->sums[k], total);
  } else {
    atomic_most(&totals->extremes[k - kSums], total);
  }
}

__global__ void finish(const float* now, const float* old, const float* advantage, const uint8_t* mask,
                       const Totals* totals, float* loss, float* metrics, int64_t* count, float* dnew, int64_t tokens) {
  const double* sums = totals->sums;
  const float divisor = fmaxf(static_cast<float>(sums[5]), 1);
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (int64_t t = first; t < tokens; t += int64_t{gridDim.x} * kThreads) {
    const Ratio ratio(now[t], old[t]);
    const float gradient = -ratio.w * advantage[t] / divisor;
    dnew[t] = mask[t] != 0 && !ratio.clamped ? gradient : 0;
  }
  if (first != 0) return;
  *loss = -static_cast<float>(sums[0]) / divisor;
  metrics[0] = static_cast<float>(sums[1]) / divisor;
  metrics[1] = sums[5] > 0 ? -totals->extremes[1] : 0;
  metrics[2] = totals->extremes[0];
  metrics[3] = static_cast<float>(sums[2]) / divisor;
  metrics[4] = static_cast<float>(sums[3]) / divisor;
  metrics[5] = static_cast<float>(sums[4]) / divisor;
  *count = static_cast<int64_t>(sums[5]);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&totals_, sizeof(Totals)));
  }
  ~Solution() { cudaFree(totals_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.tokens + kThreads - 1) / kThreads));
    clear<<<1, 1, 0, stream>>>(totals_);
    add_tokens<<<blocks, kThreads, 0, stream>>>(args.new_logprob, args.old_logprob, args.advantage, args.mask, totals_,
                                                args.tokens);
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllReduce(totals_->sums, totals_->sums, kSums, ncclDouble, ncclSum, comm_, stream));
    fabricbench::check_nccl(ncclAllReduce(totals_->extremes, totals_->extremes, 2, ncclFloat, ncclMax, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    finish<<<blocks, kThreads, 0, stream>>>(args.new_logprob, args.old_logprob, args.advantage, args.mask, totals_,
                                            args.loss, args.metrics, args.count, args.dnew, args.tokens);
  }

 private:
  fabricbench::NcclCommunicator comm_;
  Totals* totals_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the sums, the exchange and the gradient
//|   }
//| };
// [/solution]
