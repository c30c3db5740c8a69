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
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using fabricbench::post;
using fabricbench::wait;
using bf16 = __nv_bfloat16;

constexpr int kThreads = 256, kBlocks = 32;  // of exchanges: enough for the links; all resident, as they wait for peers
constexpr int kMostRanks = 8;

// Written by the peer of that number only: the last call of which it is true.
struct Flags {
  uint32_t sent[kBlocks][kMostRanks];  // the peer's block with this number has sent its tokens
  uint32_t parts[kMostRanks];          // the peer's parts are complete
};

// The all-gather: writes this rank's tokens into every rank's `all`. When it ends, those of the peers have come: each
// block waits for the blocks with its number. `quads` are units of 16 bytes of one rank's tokens.
__global__ void __launch_bounds__(kThreads)
    gather(Peers<Flags> flags, const int4* x, Peers<int4> all, int64_t quads, int rank, int world, uint32_t call) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < quads; i += stride) {
    const int4 value = __ldg(x + i);
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      // Each rank begins with itself, so that not all write to the same one.
      if (k < world) all.of[rank + k < world ? rank + k : rank + k - world][rank * quads + i] = value;
    }
  }
  __syncthreads();  // orders the stores of all threads before the releases
  if (const auto peer = static_cast<int>(threadIdx.x); peer < world) {
    post(flags.of[peer]->sent[blockIdx.x][rank], call);
    wait(flags.of[rank]->sent[blockIdx.x][peer], call);
  }
}

// silu in place, 8 numbers for each thread.
__global__ void silu(int4* values, int64_t quads) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= quads) return;
  int4 bits = values[i];
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    pairs[k] = __floats2bfloat162_rn(v.x / (1 + __expf(-v.x)), v.y / (1 + __expf(-v.y)));
  }
  values[i] = bits;
}

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

// The reduce-scatter: reads the parts of this rank's tokens where they are, and adds them up in registers.
__global__ void __launch_bounds__(kThreads) pull_and_add(Peers<Flags> flags, Peers<const int4> parts, int4* y,
                                                         int64_t quads, int rank, int world, uint32_t call) {
  if (const auto peer = static_cast<int>(threadIdx.x); peer < world) {
    // The release is there for what the stream did before this kernel: the product.
    if (blockIdx.x == 0) post(flags.of[peer]->parts[rank], call);
    wait(flags.of[rank]->parts[peer], call);
  }
  __syncthreads();  // what some threads have acquired is there for all

  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < quads; i += stride) {
    int4 bits[kMostRanks];  // all loads are under way before the first is used
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      if (k < world) bits[k] = parts.of[rank + k < world ? rank + k : rank + k - world][rank * quads + i];
    }
    float2 sums[4] = {};
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      if (k < world) add(sums, bits[k]);
    }
    y[i] = rounded(sums);
  }
}

// Both exchanges are kernels that write or read peers' memory directly, and neither has a barrier at its end: what
// ranks share is there twice, for odd and even calls. In call e a rank writes tokens over those of call e - 2 in the
// memory of a peer, and parts over its own of call e - 2. The peer has read both: before this rank's call e - 1 ended,
// it had seen the peer's flags of call e - 1, which the peer set behind all of its call e - 2.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        tokens_(rank.world() * args.rows),
        flags_(rank, sizeof(Flags)),
        all_(rank, 2 * bytes_of_set(args)),
        parts_(rank, 2 * bytes_of_set(args)) {
    fabricbench::check_cuda(cudaMalloc(&between_, static_cast<size_t>(tokens_ * args.inner) * sizeof(bf16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(between_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const size_t set = ++call_ % 2 * bytes_of_set(args);
    const int64_t quads = args.rows * args.hidden / 8, active = tokens_ * args.inner / 8;
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, (quads + kThreads - 1) / kThreads));
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    gather<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), reinterpret_cast<const int4*>(args.x),
                                            all_.peers<int4>(set), quads, rank_, world_, call_);
    multiply(tokens_, args.inner, args.hidden, all_.mine<bf16>(set), args.up, between_);
    silu<<<static_cast<unsigned>((active + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        reinterpret_cast<int4*>(between_), active);
    multiply(tokens_, args.hidden, args.inner, between_, args.down, parts_.mine<bf16>(set));
    pull_and_add<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), parts_.peers<const int4>(set),
                                                  reinterpret_cast<int4*>(args.y), quads, rank_, world_, call_);
  }

 private:
  // to[t][j] = sum over l of left[t][l] * right[j][l]. cuBLAS has matrices by columns: it is (right left^T)^T there.
  void multiply(int64_t rows, int64_t columns, int64_t depth, const bf16* left, const bf16* right, bf16* to) {
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(columns), static_cast<int>(rows), static_cast<int>(depth),
        &one, right, CUDA_R_16BF, static_cast<int>(depth), left, CUDA_R_16BF, static_cast<int>(depth), &zero, to,
        CUDA_R_16BF, static_cast<int>(columns), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
  size_t bytes_of_set(const Args& args) const { return static_cast<size_t>(tokens_ * args.hidden) * sizeof(bf16); }

  int rank_, world_;
  int64_t tokens_;     // of all ranks
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, all_, parts_;
  cublasHandle_t blas_ = nullptr;
  bf16* between_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the MLP
//|   }
//| };
// [/solution]
