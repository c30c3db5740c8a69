// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;
constexpr float kBeta1 = 0.9F, kBeta2 = 0.95F, kEpsilon = 1e-8F;

// Four gradients for each thread.
__global__ void widen(const uint2* grad, float4* wide, int64_t quads) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= quads) return;
  const uint2 quad = grad[i];
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&quad);
  const float2 low = __bfloat1622float2(pairs[0]), high = __bfloat1622float2(pairs[1]);
  wide[i] = make_float4(low.x, low.y, high.x, high.y);
}

struct Shard {
  const float4 *sums, *master, *m, *v;
  float4 *master_out, *m_out, *v_out;
  uint2* params;
};

__device__ void adam(float rate, float correction, float g, float& m, float& v, float& w) {
  m = kBeta1 * m + (1 - kBeta1) * g;
  v = kBeta2 * v + (1 - kBeta2) * g * g;
  w -= rate * m / (sqrtf(v * correction) + kEpsilon);
}

// Four parameters for each thread.
__global__ void update(Shard shard, const int* step, const float* lr, float share, int64_t quads) {
  __shared__ float rate, correction;
  if (threadIdx.x == 0) {
    const auto t = static_cast<float>(*step);
    rate = *lr / (1 - powf(kBeta1, t));
    correction = 1 / (1 - powf(kBeta2, t));
  }
  __syncthreads();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= quads) return;
  const float4 g = shard.sums[i];
  float4 w = shard.master[i], m = shard.m[i], v = shard.v[i];
  adam(rate, correction, g.x * share, m.x, v.x, w.x);
  adam(rate, correction, g.y * share, m.y, v.y, w.y);
  adam(rate, correction, g.z * share, m.z, v.z, w.z);
  adam(rate, correction, g.w * share, m.w, v.w, w.w);
  shard.master_out[i] = w;
  shard.m_out[i] = m;
  shard.v_out[i] = v;
  const __nv_bfloat162 rounded[] = {__floats2bfloat162_rn(w.x, w.y), __floats2bfloat162_rn(w.z, w.w)};
  shard.params[i] = *reinterpret_cast<const uint2*>(rounded);
}

// NCCL's rings round sums of bf16 at every hop, so gradients are widened to float before they are reduced. The new
// parameters are written where they belong in this rank's `params`, and gathered in place.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&wide_, static_cast<size_t>(world_ * args.n) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(args.n) * sizeof(float)));
  }
  ~Solution() {
    cudaFree(wide_);
    cudaFree(sums_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto in = [](const float* p) { return reinterpret_cast<const float4*>(p); };
    const auto out = [](float* p) { return reinterpret_cast<float4*>(p); };
    const auto blocks = [](int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); };
    const auto n = static_cast<size_t>(args.n);
    const int64_t quads = args.n / 4;
    widen<<<blocks(world_ * quads), kThreads, 0, stream>>>(reinterpret_cast<const uint2*>(args.grad), out(wide_),
                                                           world_ * quads);
    fabricbench::check_nccl(ncclReduceScatter(wide_, sums_, n, ncclFloat, ncclSum, comm_, stream));
    __nv_bfloat16* params = args.params + rank_ * args.n;
    const Shard shard = {in(sums_),
                         in(args.master),
                         in(args.m),
                         in(args.v),
                         out(args.master_out),
                         out(args.m_out),
                         out(args.v_out),
                         reinterpret_cast<uint2*>(params)};
    update<<<blocks(quads), kThreads, 0, stream>>>(shard, args.step, args.lr, 1 / static_cast<float>(world_), quads);
    fabricbench::check_nccl(ncclAllGather(params, args.params, n, ncclBfloat16, comm_, stream));
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  float *wide_ = nullptr, *sums_ = nullptr;
};
// [/solution]
