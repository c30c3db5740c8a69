// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 256, kBlocks = 132;

// blockIdx.y is the kind: 0 for shards of everything else, 1 for experts.
struct Gradients {
  const __nv_bfloat16* in[2];
  __nv_bfloat16* out[2];
  int64_t n[2];
  float scale[2];
};

__global__ void add_squares(Gradients gradients, float* sums) {
  __shared__ float of_warp[kThreads / kWarp];
  const __nv_bfloat16* in = gradients.in[blockIdx.y];
  const int64_t n = gradients.n[blockIdx.y], packs = n / 8;
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
  const float scale = gradients.scale[blockIdx.y];
  atomicAdd(sums + blockIdx.y, sum * scale * scale);
}

__global__ void scale(Gradients gradients, const float* sums, const float* max_norm, float* norm_out) {
  const __nv_bfloat16* in = gradients.in[blockIdx.y];
  __nv_bfloat16* out = gradients.out[blockIdx.y];
  const int64_t n = gradients.n[blockIdx.y], packs = n / 8;
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x, threads = int64_t{gridDim.x} * kThreads;
  const float norm = sqrtf(sums[0] + sums[1]);
  const float factor = fminf(1, *max_norm / (norm + 1e-6F)) * gradients.scale[blockIdx.y];
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
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    const auto ep = static_cast<int>(args.ep);
    fabricbench::check_nccl(ncclCommSplit(comm_, rank.rank() / ep, rank.rank() % ep, &experts_, nullptr));
    fabricbench::check_cuda(cudaMalloc(&sums_, 2 * sizeof(float)));
  }
  ~Solution() {
    cudaFree(sums_);
    ncclCommDestroy(experts_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const Gradients gradients = {{args.dense_grad, args.expert_grad},
                                 {args.dense_clipped, args.expert_clipped},
                                 {args.dense, args.expert},
                                 {1, 1 / static_cast<float>(args.ep)}};
    const int64_t most = std::max(args.dense, args.expert), share = 8 * kThreads;
    const dim3 grid(static_cast<unsigned>(std::min<int64_t>(kBlocks, (most + share - 1) / share)), 2);
    fabricbench::check_cuda(cudaMemsetAsync(sums_, 0, 2 * sizeof(float), stream));
    add_squares<<<grid, kThreads, 0, stream>>>(gradients, sums_);
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllReduce(sums_, sums_, 1, ncclFloat, ncclSum, comm_, stream));
    fabricbench::check_nccl(ncclAllReduce(sums_ + 1, sums_ + 1, 1, ncclFloat, ncclSum, experts_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    scale<<<grid, kThreads, 0, stream>>>(gradients, sums_, args.max_norm, args.norm);
  }

 private:
  fabricbench::NcclCommunicator comm_;
  ncclComm_t experts_ = nullptr;  // of this rank's expert-parallel group
  float* sums_ = nullptr;
};
// [/solution]
