// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128, kWarp = 32;

__device__ float squares_of(int4 bits) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    sum += v.x * v.x + v.y * v.y;
  }
  return sum;
}

// A block for each row.
__global__ void add_squares(const int4* x, float* sums, int64_t quads) {
  __shared__ float of_warp[kThreads / kWarp];
  const int4* row = x + blockIdx.x * quads;
  float sum = 0;
  for (int64_t q = threadIdx.x; q < quads; q += kThreads) sum += squares_of(row[q]);
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3];
}

__global__ void normalise(const int4* x, const int4* weight, const float* sums, int4* y, int64_t quads, float columns) {
  const float scale = rsqrtf(sums[blockIdx.x] / columns + 1e-5F);
  for (int64_t q = threadIdx.x; q < quads; q += kThreads) {
    const int4 bits = x[blockIdx.x * quads + q], factors = weight[q];
    const auto *from = reinterpret_cast<const __nv_bfloat162*>(&bits),
               *by = reinterpret_cast<const __nv_bfloat162*>(&factors);
    int4 result;
    auto* to = reinterpret_cast<__nv_bfloat162*>(&result);
    for (int k = 0; k < 4; ++k) {
      const float2 v = __bfloat1622float2(from[k]), w = __bfloat1622float2(by[k]);
      to[k] = __floats2bfloat162_rn(v.x * scale * w.x, v.y * scale * w.y);
    }
    y[blockIdx.x * quads + q] = result;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(args.tokens) * sizeof(float)));
  }
  ~Solution() { cudaFree(sums_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.tokens);
    const auto *x = reinterpret_cast<const int4*>(args.x), *weight = reinterpret_cast<const int4*>(args.weight);
    add_squares<<<rows, kThreads, 0, stream>>>(x, sums_, args.hidden / 8);
    fabricbench::check_nccl(ncclAllReduce(sums_, sums_, rows, ncclFloat, ncclSum, comm_, stream));
    normalise<<<rows, kThreads, 0, stream>>>(x, weight, sums_, reinterpret_cast<int4*>(args.y), args.hidden / 8,
                                             static_cast<float>(args.hidden * world_));
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  float* sums_ = nullptr;
};
// [/solution]
