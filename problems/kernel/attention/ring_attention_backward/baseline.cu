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

#include <utility>
#include <vector>

using bf16 = __nv_bfloat16;

constexpr int kThreads = 128, kWarp = 32, kWarps = kThreads / kWarp, kDim = 128;

__device__ float2 low(uint2 bits) { return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&bits.x)); }
__device__ float2 high(uint2 bits) { return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&bits.y)); }

// Queries and their gradients by heads, [head][token], so that heads that share keys are one matrix; and delta, the sum
// of dout * out. A warp for each row, 8 bytes for a lane.
__global__ void prepare(const uint2* q, const uint2* out, const uint2* dout, uint2* q_by_head, uint2* dout_by_head,
                        float* delta, int local, int heads) {
  const int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= local * heads) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, to = row % heads * local + row / heads;
  const int64_t from = int64_t{row} * kWarp + lane;
  const uint2 gradient = dout[from], result = out[from];
  q_by_head[int64_t{to} * kWarp + lane] = q[from];
  dout_by_head[int64_t{to} * kWarp + lane] = gradient;
  float sum = low(gradient).x * low(result).x + low(gradient).y * low(result).y + high(gradient).x * high(result).x +
              high(gradient).y * high(result).y;
  for (int step = 1; step < kWarp; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) delta[to] = sum;
}

// From scores and products of dout and v, [head][token][key]: probabilities p = exp(scale * score - lse), and ds =
// scale * p * (dout v - delta), both in bf16. A warp for each row, two keys for a lane.
__global__ void probabilities(const float2* scores, const float2* by_value, const float* lse, const float* delta,
                              __nv_bfloat162* p, __nv_bfloat162* ds, int rows, int tokens, int rank, int world) {
  const int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= rows) return;
  const int local = 2 * tokens, pairs = world * tokens;
  const auto position = [&](int owner, int t) {
    return t < tokens ? owner * tokens + t : (2 * world - 1 - owner) * tokens + t - tokens;
  };
  const int query = position(rank, row % local);
  const float log_sum = lse[row], own = delta[row], scale = 1 / sqrtf(kDim);
  for (int i = static_cast<int>(threadIdx.x) % kWarp; i < pairs; i += kWarp) {
    const int64_t at = int64_t{row} * pairs + i;
    const int owner = 2 * i / local, t = 2 * i % local;
    const float2 score = scores[at], product = by_value[at];
    const float first = position(owner, t) <= query ? __expf(scale * score.x - log_sum) : 0;
    const float second = position(owner, t + 1) <= query ? __expf(scale * score.y - log_sum) : 0;
    p[at] = __floats2bfloat162_rn(first, second);
    ds[at] = __floats2bfloat162_rn(scale * first * (product.x - own), scale * second * (product.y - own));
  }
}

// A thread for two numbers; they are a multiple of 256, so that all threads have work.
__global__ void round_to_bf16(const float2* sums, __nv_bfloat162* dk, __nv_bfloat162* dv, int64_t pairs) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  __nv_bfloat162* to = i < pairs ? dk + i : dv + (i - pairs);
  *to = __floats2bfloat162_rn(sums[i].x, sums[i].y);
}

// Gathers keys and values, computes with all of them, and sums up the gradients of both.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        local_(static_cast<int>(2 * args.tokens)),
        heads_(static_cast<int>(args.kv_heads * args.share)),
        count_(static_cast<size_t>(2 * args.tokens * args.kv_heads * kDim)),
        comm_(rank) {
    const auto rows = static_cast<size_t>(local_) * heads_, products = rows * local_ * world_;
    fabricbench::check_cuda(cudaMalloc(&k_, count_ * world_ * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&v_, count_ * world_ * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&q_, rows * kDim * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&dout_, rows * kDim * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&delta_, rows * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&scores_, 2 * products * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&p_, 2 * products * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&parts_, 2 * count_ * world_ * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&sums_, 2 * count_ * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
    bf16* ds = p_ + products;
    float* by_value = scores_ + products;
    const int64_t square = int64_t{local_} * local_ * world_, rows_of_head = int64_t{local_} * kDim;
    std::vector<const void*> pointers;
    const auto add = [&](auto* base, int64_t step, int64_t count) {
      for (int64_t i = 0; i < count; ++i) pointers.push_back(base + i * step);
    };
    const int64_t shared = args.share * square, shared_rows = args.share * rows_of_head;
    add(k_, kDim, args.kv_heads);  // scores, and products of dout and v
    add(v_, kDim, args.kv_heads);
    add(q_, shared_rows, args.kv_heads);
    add(dout_, shared_rows, args.kv_heads);
    add(scores_, shared, args.kv_heads);
    add(by_value, shared, args.kv_heads);
    add(ds, shared, args.kv_heads);  // dk and dv
    add(p_, shared, args.kv_heads);
    add(parts_, kDim, args.kv_heads);
    add(parts_ + count_ * world_, kDim, args.kv_heads);
    for (int64_t h = 0; h < heads_; ++h) pointers.push_back(k_ + h / args.share * kDim);  // dq
    add(ds, square, heads_);
    add(args.dq, kDim, heads_);
    fabricbench::check_cuda(cudaMalloc(&pointers_, pointers.size() * sizeof(void*)));
    fabricbench::check_cuda(
        cudaMemcpy(pointers_, pointers.data(), pointers.size() * sizeof(void*), cudaMemcpyHostToDevice));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(k_);
    cudaFree(v_);
    cudaFree(q_);
    cudaFree(dout_);
    cudaFree(delta_);
    cudaFree(scores_);
    cudaFree(p_);
    cudaFree(parts_);
    cudaFree(sums_);
    cudaFree(pointers_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int keys = local_ * world_, shared = local_ * static_cast<int>(args.share), rows = local_ * heads_;
    const auto kv_heads = static_cast<int>(args.kv_heads), kv_row = kv_heads * kDim;
    const auto blocks = [](int64_t count, int each) { return static_cast<unsigned>((count + each - 1) / each); };
    const float one = 1, zero = 0;

    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllGather(args.k, k_, count_, ncclBfloat16, comm_, stream));
    fabricbench::check_nccl(ncclAllGather(args.v, v_, count_, ncclBfloat16, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    prepare<<<blocks(rows, kWarps), kThreads, 0, stream>>>(
        reinterpret_cast<const uint2*>(args.q), reinterpret_cast<const uint2*>(args.out),
        reinterpret_cast<const uint2*>(args.dout), reinterpret_cast<uint2*>(q_), reinterpret_cast<uint2*>(dout_),
        delta_, local_, heads_);

    // cuBLAS has columns where these matrices have rows. Pointers are in the order of the constructor.
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const void** at = pointers_;
    const auto next = [&](int64_t count) { return const_cast<void**>(std::exchange(at, at + count)); };
    void **k_and_v = next(2 * kv_heads), **q_and_dout = next(2 * kv_heads), **scores = next(2 * kv_heads);
    fabricbench::check_cublas(cublasGemmBatchedEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, keys, shared, kDim, &one, k_and_v, CUDA_R_16BF, kv_row, q_and_dout,
        CUDA_R_16BF, kDim, &zero, scores, CUDA_R_32F, keys, 2 * kv_heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    const int64_t products = int64_t{rows} * keys;
    probabilities<<<blocks(rows, kWarps), kThreads, 0, stream>>>(
        reinterpret_cast<const float2*>(scores_), reinterpret_cast<const float2*>(scores_ + products), args.lse, delta_,
        reinterpret_cast<__nv_bfloat162*>(p_), reinterpret_cast<__nv_bfloat162*>(p_ + products), rows,
        static_cast<int>(args.tokens), rank_, world_);
    void **ds_and_p = next(2 * kv_heads), **dk_and_dv = next(2 * kv_heads);
    fabricbench::check_cublas(cublasGemmBatchedEx(
        blas_, CUBLAS_OP_N, CUBLAS_OP_T, kDim, keys, shared, &one, q_and_dout, CUDA_R_16BF, kDim, ds_and_p, CUDA_R_16BF,
        keys, &zero, dk_and_dv, CUDA_R_32F, kv_row, 2 * kv_heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    void **k = next(heads_), **ds = next(heads_), **dq = next(heads_);
    fabricbench::check_cublas(cublasGemmBatchedEx(blas_, CUBLAS_OP_N, CUBLAS_OP_N, kDim, local_, keys, &one, k,
                                                  CUDA_R_16BF, kv_row, ds, CUDA_R_16BF, keys, &zero, dq, CUDA_R_16BF,
                                                  heads_ * kDim, heads_, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));

    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclReduceScatter(parts_, sums_, count_, ncclFloat, ncclSum, comm_, stream));
    fabricbench::check_nccl(
        ncclReduceScatter(parts_ + count_ * world_, sums_ + count_, count_, ncclFloat, ncclSum, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    round_to_bf16<<<blocks(static_cast<int64_t>(count_), kThreads), kThreads, 0, stream>>>(
        reinterpret_cast<const float2*>(sums_), reinterpret_cast<__nv_bfloat162*>(args.dk),
        reinterpret_cast<__nv_bfloat162*>(args.dv), static_cast<int64_t>(count_ / 2));
  }

 private:
  int rank_, world_, local_, heads_;
  size_t count_;  // numbers of a rank's keys
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  bf16 *k_ = nullptr, *v_ = nullptr;     // of all ranks
  bf16 *q_ = nullptr, *dout_ = nullptr;  // by heads
  bf16* p_ = nullptr;                    // probabilities, then ds
  float* scores_ = nullptr;              // scores, then products of dout and v
  float *delta_ = nullptr, *parts_ = nullptr, *sums_ = nullptr;
  const void** pointers_ = nullptr;  // of each head: factors and results of the products
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the gradients
//|   }
//| };
// [/solution]
