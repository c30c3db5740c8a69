// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 256, kBlocks = 132;

// The sum and the count, both as double, so that one all-reduce takes both and counts are exact.
__global__ void add_losses(const float* loss, const uint8_t* mask, double* both, int64_t tokens) {
  __shared__ float sums[kThreads / kWarp];
  __shared__ int counts[kThreads / kWarp];
  float sum = 0;
  int count = 0;
  for (int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x; t < tokens; t += int64_t{gridDim.x} * kThreads) {
    if (mask[t] == 0) continue;
    sum += loss[t];
    ++count;
  }
  for (int step = kWarp / 2; step > 0; step /= 2) {
    sum += __shfl_down_sync(~0u, sum, step);
    count += __shfl_down_sync(~0u, count, step);
  }
  if (threadIdx.x % kWarp == 0) {
    sums[threadIdx.x / kWarp] = sum;
    counts[threadIdx.x / kWarp] = count;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kThreads / kWarp; ++w) {
    sum += sums[w];
    count += counts[w];
  }
  atomicAdd(both, sum);
  atomicAdd(both + 1, count);
}

__global__ void finish(const uint8_t* mask, const double* both, float* mean_loss, int64_t* count, float* dloss,
                       int64_t tokens, int world) {
  const auto sum = static_cast<float>(both[0]), divisor = fmaxf(static_cast<float>(both[1]), 1);
  const float scale = static_cast<float>(world) / divisor;
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (int64_t t = first; t < tokens; t += int64_t{gridDim.x} * kThreads) dloss[t] = mask[t] != 0 ? scale : 0;
  if (first != 0) return;
  *mean_loss = sum / divisor;
  *count = static_cast<int64_t>(both[1]);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&both_, 2 * sizeof(double)));
  }
  ~Solution() { cudaFree(both_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.tokens + kThreads - 1) / kThreads));
    fabricbench::check_cuda(cudaMemsetAsync(both_, 0, 2 * sizeof(double), stream));
    add_losses<<<blocks, kThreads, 0, stream>>>(args.loss, args.mask, both_, args.tokens);
    fabricbench::check_nccl(ncclAllReduce(both_, both_, 2, ncclDouble, ncclSum, comm_, stream));
    finish<<<blocks, kThreads, 0, stream>>>(args.mask, both_, args.mean_loss, args.count, args.dloss, args.tokens,
                                            world_);
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  double* both_ = nullptr;
};
// [/solution]
