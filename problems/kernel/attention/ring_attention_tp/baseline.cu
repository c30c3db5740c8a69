#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cmath>
#include <cstdint>
#include <numbers>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include "../ring_attention.h"

// Merges the partial results of the block's warps, one for the keys of each rank, and stores rows `first` and on.
__device__ __forceinline__ void merge(Attention& part, bf16* out, int first, int rows, int share, int heads, int head,
                                      int world) {
  __shared__ float tops[kMostRanks][kRows], sums[kMostRanks][kRows];
  __shared__ __align__(16) float values[kMostRanks][kRows][kHalf + 4];  // 4 more: rows in different banks
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = lane / 4, member = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float sum = across_row(part.sum[r], false);
    if (member == 0) {
      tops[warp][group + 8 * r] = part.top[r];
      sums[warp][group + 8 * r] = sum;
    }
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = kNothing, sum = 0;
#pragma unroll
    for (int s = 0; s < kMostRanks; ++s) {
      if (s < world) top = fmaxf(top, tops[s][group + 8 * r]);
    }
#pragma unroll
    for (int s = 0; s < kMostRanks; ++s) {
      if (s < world) sum += sums[s][group + 8 * r] * power_of_two(tops[s][group + 8 * r] - top);
    }
    const float factor = power_of_two(part.top[r] - top) / sum;
#pragma unroll
    for (auto& tile : part.out) {
      tile[2 * r] *= factor;
      tile[2 * r + 1] *= factor;
    }
  }
#pragma unroll
  for (int j = 0; j < kDim / kHalf; ++j) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int e = 0; e < 16; e += 4) {
        const auto* tiles = &part.out[j * 8 + e % 8];
        const int n = 2 * r + e / 8;
        *reinterpret_cast<float4*>(&values[warp][group + 8 * r][member * 16 + e]) = {tiles[0][n], tiles[1][n],
                                                                                     tiles[2][n], tiles[3][n]};
      }
    }
    __syncthreads();
    auto i = static_cast<int>(threadIdx.x);  // a block has no more threads than these numbers
    do {
      const int row = i / (kHalf / 4), at = i % (kHalf / 4) * 4;
      if (first + row >= rows) continue;
      float4 sum = {};
#pragma unroll
      for (int s = 0; s < kMostRanks; ++s) {
        if (s >= world) continue;
        const float4 value = *reinterpret_cast<const float4*>(&values[s][row][at]);
        sum = {sum.x + value.x, sum.y + value.y, sum.z + value.z, sum.w + value.w};
      }
      const int64_t query = (first + row) / share * heads + head * share + (first + row) % share;
      *reinterpret_cast<uint2*>(out + query * kDim + j * kHalf + at) = {packed(sum.x, sum.y), packed(sum.z, sum.w)};
    } while ((i += static_cast<int>(blockDim.x)) < kRows * kHalf / 4);
    __syncthreads();  // before `values` is written again
  }
}

// The 16 queries of a warp: row i of a head of keys is token i / share with one of the heads that share it.
__device__ __forceinline__ void load_queries(Attention& a, const bf16* q, int first, int rows, int share, int heads,
                                             int head) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first + lane / 4 + 8 * r;
    const int64_t query = row / share * heads + head * share + row % share;
#pragma unroll
    for (int c = 0; c < kDim / 32; ++c)
      a.q[r][c] = row < rows ? __ldg(reinterpret_cast<const uint4*>(q + query * kDim) + c * 4 + lane % 4) : uint4{};
  }
}

// A block for 16 rows of one head of keys, a warp for the keys of each rank. `k` and `v` are those of the whole
// sequence.
__global__ void __launch_bounds__(kMostRanks* kWarp)
    attend(const bf16* q, const bf16* k, const bf16* v, bf16* out, Sequence sequence, int kv_heads, int share,
           float scale, int rank) {
  const int head = static_cast<int>(blockIdx.y), source = static_cast<int>(threadIdx.x) / kWarp;
  const int group = static_cast<int>(threadIdx.x) % kWarp / 4;
  const int first = static_cast<int>(blockIdx.x) * kRows, rows = 2 * sequence.tokens * share;
  Attention a;
  load_queries(a, q, first, rows, share, kv_heads * share, head);
  const auto seen = [&](int row) { return sequence.seen(sequence.position(rank, min(row, rows - 1) / share), source); };
  const int most = seen(first + kRows - 1), of_row[2] = {seen(first + group), seen(first + group + 8)};
  const int64_t stride = int64_t{kv_heads} * kDim / 8;
  const int64_t at = (int64_t{2} * sequence.tokens * source * kv_heads + head) * kDim / 8;
  for (int key = 0; key < most; key += kTile) {
    const int in_tile[2] = {of_row[0] - key, of_row[1] - key};
    a.add(reinterpret_cast<const uint4*>(k) + at + key * stride, reinterpret_cast<const uint4*>(v) + at + key * stride,
          stride, most - key, in_tile, scale);
  }
  merge(a, out, first, rows, share, kv_heads * share, head, sequence.world);
}

// Gathers keys and values of the whole sequence, computes, multiplies with the weight's columns, and adds over the
// tensor parallel group.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : comm_(rank),
        inner_(rank.rank() % static_cast<int>(args.tp)),
        place_(rank.rank() / static_cast<int>(args.tp)),
        places_(rank.world() / static_cast<int>(args.tp)),
        count_(static_cast<size_t>(2 * args.tokens * args.kv_heads * kDim)) {
    fabricbench::check_nccl(ncclCommSplit(comm_, inner_, place_, &cp_, nullptr));
    fabricbench::check_nccl(ncclCommSplit(comm_, place_, inner_, &tp_, nullptr));
    fabricbench::check_cuda(cudaMalloc(&k_, count_ * static_cast<size_t>(places_) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&v_, count_ * static_cast<size_t>(places_) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&context_, count_ * static_cast<size_t>(args.share) * sizeof(bf16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(k_);
    cudaFree(v_);
    cudaFree(context_);
    ncclCommDestroy(cp_);
    ncclCommDestroy(tp_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllGather(args.k, k_, count_, ncclBfloat16, cp_, stream));
    fabricbench::check_nccl(ncclAllGather(args.v, v_, count_, ncclBfloat16, cp_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    const Sequence sequence = {static_cast<int>(args.tokens), places_};
    const dim3 grid(static_cast<unsigned>((2 * args.tokens * args.share + kRows - 1) / kRows),
                    static_cast<unsigned>(args.kv_heads));
    const float scale = std::numbers::log2e_v<float> / std::sqrt(float{kDim});
    attend<<<grid, places_ * kWarp, 0, stream>>>(args.q, k_, v_, context_, sequence, static_cast<int>(args.kv_heads),
                                                 static_cast<int>(args.share), scale, place_);

    // cuBLAS has matrices by columns: what is context weight^T by rows is (weight context^T)^T there.
    const auto hidden = static_cast<int>(args.hidden), rows = static_cast<int>(2 * args.tokens);
    const auto depth = static_cast<int>(args.kv_heads * args.share) * kDim;
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, rows, depth, &one, args.weight,
                                           CUDA_R_16BF, depth, context_, CUDA_R_16BF, depth, &zero, args.out,
                                           CUDA_R_16BF, hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_nccl(ncclAllReduce(args.out, args.out, static_cast<size_t>(2 * args.tokens * args.hidden),
                                          ncclBfloat16, ncclSum, tp_, stream));
  }

 private:
  fabricbench::NcclCommunicator comm_;
  int inner_, place_, places_;  // in the tensor parallel group; along the sequence
  size_t count_;                // numbers of a rank's keys
  ncclComm_t cp_ = nullptr, tp_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  bf16 *k_ = nullptr, *v_ = nullptr, *context_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue attention, product and sum
//|   }
//| };
// [/solution]
