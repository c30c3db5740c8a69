#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cmath>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

using bf16 = __nv_bfloat16;

constexpr int kThreads = 128, kWarp = 32, kDim = 64;

// weights[row] = softmax(scores[row]), a warp for each row. `scores` are in units of log 2.
__global__ void softmax(const float* scores, bf16* weights, int64_t rows, int64_t keys) {
  const int64_t row = int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= rows) return;
  const auto lane = static_cast<int64_t>(threadIdx.x % kWarp);
  const float* from = scores + row * keys;
  float top = -INFINITY, sum = 0;
  for (int64_t j = lane; j < keys; j += kWarp) top = fmaxf(top, from[j]);
  for (int step = 1; step < kWarp; step *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
  for (int64_t j = lane; j < keys; j += kWarp) sum += exp2f(from[j] - top);
  for (int step = 1; step < kWarp; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
  for (int64_t j = lane; j < keys; j += kWarp) weights[row * keys + j] = __float2bfloat16(exp2f(from[j] - top) / sum);
}

// y = x + attention
__global__ void add(const bf16* x, const float* attention, bf16* y, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) y[i] = __float2bfloat16(__bfloat162float(x[i]) + attention[i]);
}

// Gathers the keys and values of the stage once. Then each micro-batch is received from the stage before, computed, and
// sent to the next one.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), cp_(static_cast<int>(args.cp)), comm_(rank) {
    const int64_t keys = args.cp * args.keys, row = args.heads * kDim;
    fabricbench::check_nccl(ncclCommSplit(comm_, rank_ / cp_, rank_ % cp_, &stage_, nullptr));
    fabricbench::check_cuda(cudaMalloc(&k_, static_cast<size_t>(keys * row) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&v_, static_cast<size_t>(keys * row) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&x_, static_cast<size_t>(args.tokens * row) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&attention_, static_cast<size_t>(args.tokens * row) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&scores_, static_cast<size_t>(args.tokens * args.heads * keys) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, static_cast<size_t>(args.tokens * args.heads * keys) * sizeof(bf16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(k_);
    cudaFree(v_);
    cudaFree(x_);
    cudaFree(attention_);
    cudaFree(scores_);
    cudaFree(weights_);
    ncclCommDestroy(stage_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t row = args.heads * kDim, count = args.tokens * row;
    const auto shard = static_cast<size_t>(args.keys * row), message = static_cast<size_t>(count);
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllGather(args.k, k_, shard, ncclBfloat16, stage_, stream));
    fabricbench::check_nccl(ncclAllGather(args.v, v_, shard, ncclBfloat16, stage_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    for (int64_t m = 0; m < args.batches; ++m) {
      const bf16* x = args.x + m * count;
      if (rank_ >= cp_) {
        fabricbench::check_nccl(ncclRecv(x_, message, ncclBfloat16, rank_ - cp_, comm_, stream));
        x = x_;
      }
      compute(args, x, args.y + m * count, stream);
      if (rank_ + cp_ < world_)
        fabricbench::check_nccl(ncclSend(args.y + m * count, message, ncclBfloat16, rank_ + cp_, comm_, stream));
    }
  }

 private:
  void compute(const Args& args, const bf16* x, bf16* y, cudaStream_t stream) {
    const auto keys = static_cast<int>(args.cp * args.keys), tokens = static_cast<int>(args.tokens);
    const auto heads = static_cast<int>(args.heads), row = heads * kDim;
    const int64_t pairs = args.tokens * keys, rows = args.tokens * args.heads;
    const float scale = 1.44269504F / std::sqrt(static_cast<float>(kDim)), one = 1, zero = 0;
    // cuBLAS has columns where these matrices have rows. Scores are [head][token][key].
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_cublas(cublasGemmStridedBatchedEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, keys, tokens, kDim, &scale, k_, CUDA_R_16BF, row, kDim, x, CUDA_R_16BF, row,
        kDim, &zero, scores_, CUDA_R_32F, keys, pairs, heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    softmax<<<static_cast<unsigned>((rows * kWarp + kThreads - 1) / kThreads), kThreads, 0, stream>>>(scores_, weights_,
                                                                                                      rows, keys);
    fabricbench::check_cublas(cublasGemmStridedBatchedEx(
        blas_, CUBLAS_OP_N, CUBLAS_OP_N, kDim, tokens, keys, &one, v_, CUDA_R_16BF, row, kDim, weights_, CUDA_R_16BF,
        keys, pairs, &zero, attention_, CUDA_R_32F, row, kDim, heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    const int64_t count = rows * kDim;
    add<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(x, attention_, y, count);
  }

  int rank_, world_, cp_;
  fabricbench::NcclCommunicator comm_;
  ncclComm_t stage_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  bf16 *k_ = nullptr, *v_ = nullptr, *x_ = nullptr, *weights_ = nullptr;
  float *attention_ = nullptr, *scores_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue this rank's part of the pipeline
//|   }
//| };
// [/solution]
