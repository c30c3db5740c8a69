#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;
constexpr float kBeta1 = 0.9F, kBeta2 = 0.95F, kEpsilon = 1e-8F, kDecay = 0.1F;

__global__ void round_weights(const float2* master, __nv_bfloat162* weights, int64_t pairs) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < pairs) weights[i] = __float22bfloat162_rn(master[i]);
}

__global__ void errors_of(const float* y, const __nv_bfloat16* target, __nv_bfloat16* errors, float share,
                          int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) errors[i] = __float2bfloat16((y[i] - __bfloat162float(target[i])) * share);
}

struct Shard {
  const float4 *grad, *master, *m, *v;
  float4 *master_out, *m_out, *v_out;
};

struct Factors {
  float rate, correction, kept;
};

__device__ void adamw(Factors by, float g, float& m, float& v, float& w) {
  m = kBeta1 * m + (1 - kBeta1) * g;
  v = kBeta2 * v + (1 - kBeta2) * g * g;
  w = w * by.kept - by.rate * m / (sqrtf(v * by.correction) + kEpsilon);
}

// Four weights for each thread. `grad` has sums over ranks.
__global__ void update(Shard shard, const int* step, const float* lr, float share, int64_t quads) {
  __shared__ Factors by;
  if (threadIdx.x == 0) {
    const auto t = static_cast<float>(*step);
    by = {*lr / (1 - powf(kBeta1, t)), 1 / (1 - powf(kBeta2, t)), 1 - *lr * kDecay};
  }
  __syncthreads();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= quads) return;
  const float4 g = shard.grad[i];
  float4 w = shard.master[i], m = shard.m[i], v = shard.v[i];
  adamw(by, g.x * share, m.x, v.x, w.x);
  adamw(by, g.y * share, m.y, v.y, w.y);
  adamw(by, g.z * share, m.z, v.z, w.z);
  adamw(by, g.w * share, m.w, v.w, w.w);
  shard.master_out[i] = w;
  shard.m_out[i] = m;
  shard.v_out[i] = v;
}

// Gathers the weights, multiplies with cuBLAS forward and backward, and adds up the gradients where their weights are.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), outputs_(rank.world() * args.rows), comm_(rank) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto weights = static_cast<size_t>(outputs_ * args.width),
               results = static_cast<size_t>(args.tokens * outputs_);
    fabricbench::check_cuda(cudaMalloc(&weights_, weights * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&grad_, weights * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&sums_, weights / static_cast<size_t>(world_) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&y_, results * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&errors_, results * sizeof(__nv_bfloat16)));
  }
  ~Solution() {
    cudaFree(weights_);
    cudaFree(grad_);
    cudaFree(sums_);
    cudaFree(y_);
    cudaFree(errors_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto in = [](const float* p) { return reinterpret_cast<const float4*>(p); };
    const auto out = [](float* p) { return reinterpret_cast<float4*>(p); };
    const auto blocks = [](int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); };
    const int64_t shard = args.rows * args.width, results = args.tokens * outputs_;
    __nv_bfloat16* mine = weights_ + rank_ * shard;
    round_weights<<<blocks(shard / 2), kThreads, 0, stream>>>(reinterpret_cast<const float2*>(args.master),
                                                              reinterpret_cast<__nv_bfloat162*>(mine), shard / 2);
    fabricbench::check_nccl(ncclAllGather(mine, weights_, static_cast<size_t>(shard), ncclBfloat16, comm_, stream));

    // cuBLAS has columns where these matrices have rows: each product is that of the transposed factors, exchanged.
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto tokens = static_cast<int>(args.tokens), width = static_cast<int>(args.width);
    const auto outputs = static_cast<int>(outputs_);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, outputs, tokens, width, &one, weights_,
                                           CUDA_R_16BF, width, args.x, CUDA_R_16BF, width, &zero, y_, CUDA_R_32F,
                                           outputs, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    errors_of<<<blocks(results), kThreads, 0, stream>>>(y_, args.target, errors_, 1 / static_cast<float>(args.tokens),
                                                        results);
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_N, CUBLAS_OP_T, width, outputs, tokens, &one, args.x,
                                           CUDA_R_16BF, width, errors_, CUDA_R_16BF, outputs, &zero, grad_, CUDA_R_32F,
                                           width, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));

    fabricbench::check_nccl(
        ncclReduceScatter(grad_, sums_, static_cast<size_t>(shard), ncclFloat, ncclSum, comm_, stream));
    const Shard all = {in(sums_),       in(args.master), in(args.m), in(args.v), out(args.master_out),
                       out(args.m_out), out(args.v_out)};
    update<<<blocks(shard / 4), kThreads, 0, stream>>>(all, args.step, args.lr, 1 / static_cast<float>(world_),
                                                       shard / 4);
  }

 private:
  int rank_, world_;
  int64_t outputs_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t cublas_ = nullptr;
  __nv_bfloat16 *weights_ = nullptr, *errors_ = nullptr;    // [outputs][width], [tokens][outputs]
  float *y_ = nullptr, *grad_ = nullptr, *sums_ = nullptr;  // [tokens][outputs], [outputs][width], [rows][width]
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the step
//|   }
//| };
// [/solution]
