#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;

constexpr int kThreads = 256, kBlocks = 32;  // enough to fill the links; all resident at once, as they wait for peers
constexpr int kMostRanks = 8;

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

__device__ void add(float2 (&sums)[4], int4 bits) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    sums[k].x += v.x;
    sums[k].y += v.y;
  }
}

__device__ int4 rounded(const float2 (&sums)[4]) {
  int4 bits;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
  for (int k = 0; k < 4; ++k) pairs[k] = __floats2bfloat162_rn(sums[k].x, sums[k].y);
  return bits;
}

// The reduce-scatter and what follows it in one pass: reads the parts of this rank's rows where they are, adds them and
// the residual in registers, and writes `y`. `quads` are units of 16 bytes of one rank's rows.
//
// flags.of[r][i] is the last call of which rank i's parts are complete, for rank r to see. Block 0 sets it; all blocks
// wait for it.
__global__ void __launch_bounds__(kThreads)
    pull_and_add(Peers<uint32_t> flags, Peers<const int4> parts, const int4* residual, int4* y, int64_t quads, int rank,
                 int world, uint32_t call) {
  if (const auto peer = static_cast<int>(threadIdx.x); peer < world) {
    // The release is there for what the stream did before this kernel: the product.
    if (blockIdx.x == 0) Flag(flags.of[peer][rank]).store(call, cuda::memory_order_release);
    while (Flag(flags.of[rank][peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();  // what some threads have acquired is there for all

  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < quads; i += stride) {
    int4 bits[kMostRanks];  // all loads are under way before the first is used
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      // Each rank begins with itself, so that not all read from the same one.
      if (k < world) bits[k] = parts.of[rank + k < world ? rank + k : rank + k - world][rank * quads + i];
    }
    float2 sums[4] = {};
    add(sums, __ldg(residual + i));
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      if (k < world) add(sums, bits[k]);
    }
    y[i] = rounded(sums);
  }
}

// There are two sets of parts, for odd and even calls, and nothing waits at the end of a call. The product of call e
// overwrites the parts of call e - 2. All peers have read those: before this rank's call e - 1 ended, it had seen their
// flags of call e - 1, which they set in kernels behind those of their calls e - 2.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        count_(args.rows * args.hidden),
        flags_(rank, kMostRanks * sizeof(uint32_t)),
        parts_(rank, 2 * bytes_of_set()) {
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() { cublasDestroy(blas_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto tokens = static_cast<int>(world_ * args.rows), hidden = static_cast<int>(args.hidden),
               depth = static_cast<int>(args.depth);
    const size_t set = ++call_ % 2 * bytes_of_set();
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    // cuBLAS has matrices by columns: what is x weight^T by rows is (weight x^T)^T there.
    fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, tokens, depth, &one, args.weight,
                                           CUDA_R_16BF, depth, args.x, CUDA_R_16BF, depth, &zero, parts_.mine(set),
                                           CUDA_R_16BF, hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (count_ / 8 + kThreads - 1) / kThreads));
    pull_and_add<<<blocks, kThreads, 0, stream>>>(flags_.peers<uint32_t>(), parts_.peers<const int4>(set),
                                                  reinterpret_cast<const int4*>(args.residual),
                                                  reinterpret_cast<int4*>(args.y), count_ / 8, rank_, world_, call_);
  }

 private:
  size_t bytes_of_set() const { return static_cast<size_t>(world_ * count_) * sizeof(bf16); }

  int rank_, world_;
  int64_t count_;      // numbers of a rank's rows
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, parts_;
  cublasHandle_t blas_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the product, the sum over ranks and the residual
//|   }
//| };
// [/solution]
