// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 256, kBlocks = 132, kTensors = 3;

// blockIdx.y is the tensor.
struct Shards {
  const __nv_bfloat16* in[kTensors];
  __nv_bfloat16* out[kTensors];
  int64_t n[kTensors];
};

__global__ void add_squares(Shards shards, float* sum_of_all) {
  __shared__ float of_warp[kThreads / kWarp];
  const __nv_bfloat16* in = shards.in[blockIdx.y];
  const int64_t n = shards.n[blockIdx.y], packs = n / 8;
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x, threads = int64_t{gridDim.x} * kThreads;
  float sum = 0;
  for (int64_t p = thread; p < packs; p += threads) {
    const int4 pack = reinterpret_cast<const int4*>(in)[p];
    for (int k = 0; k < 4; ++k) {
      const float2 v = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(&pack)[k]);
      sum += v.x * v.x + v.y * v.y;
    }
  }
  if (8 * packs + thread < n) {
    const float v = __bfloat162float(in[8 * packs + thread]);
    sum += v * v;
  }
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0;
  for (const float part : of_warp) sum += part;
  atomicAdd(sum_of_all, sum);
}

__global__ void scale(Shards shards, const float* squares, const float* max_norm, float* norm_out) {
  const __nv_bfloat16* in = shards.in[blockIdx.y];
  __nv_bfloat16* out = shards.out[blockIdx.y];
  const int64_t n = shards.n[blockIdx.y], packs = n / 8;
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x, threads = int64_t{gridDim.x} * kThreads;
  const float norm = sqrtf(*squares), factor = fminf(1, *max_norm / (norm + 1e-6F));
  for (int64_t p = thread; p < packs; p += threads) {
    int4 pack = reinterpret_cast<const int4*>(in)[p];
    auto* pairs = reinterpret_cast<__nv_bfloat162*>(&pack);
    for (int k = 0; k < 4; ++k) {
      const float2 v = __bfloat1622float2(pairs[k]);
      pairs[k] = __floats2bfloat162_rn(v.x * factor, v.y * factor);
    }
    reinterpret_cast<int4*>(out)[p] = pack;
  }
  if (const int64_t i = 8 * packs + thread; i < n) out[i] = __float2bfloat16(__bfloat162float(in[i]) * factor);
  if (thread == 0 && blockIdx.y == 0) *norm_out = norm;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&squares_, sizeof(float)));
  }
  ~Solution() { cudaFree(squares_); }

  void run(const Args& args, cudaStream_t stream) {
    const Shards shards = {{args.g0, args.g1, args.g2}, {args.c0, args.c1, args.c2}, {args.n0, args.n1, args.n2}};
    const int64_t most = std::max({args.n0, args.n1, args.n2}), share = 8 * kThreads;
    const dim3 grid(static_cast<unsigned>(std::min<int64_t>(kBlocks, (most + share - 1) / share)), kTensors);
    fabricbench::check_cuda(cudaMemsetAsync(squares_, 0, sizeof(float), stream));
    add_squares<<<grid, kThreads, 0, stream>>>(shards, squares_);
    fabricbench::check_nccl(ncclAllReduce(squares_, squares_, 1, ncclFloat, ncclSum, comm_, stream));
    scale<<<grid, kThreads, 0, stream>>>(shards, squares_, args.max_norm, args.norm);
  }

 private:
  fabricbench::NcclCommunicator comm_;
  float* squares_ = nullptr;
};
// [/solution]
