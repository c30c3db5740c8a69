// problem: sequence_parallel_mlp
// expect: race|wrong|uninitialised
// mode: quick
// seconds: 30
// about: products of cuBLAS are on the default stream: cublasSetStream was forgotten
// A kernel stores this rank's tokens into every rank's X and waits for those of all; cuBLAS, a kernel for silu, cuBLAS;
// then a kernel tells all ranks that this one's parts are ready, waits for theirs, and adds up its rows of all parts,
// which it reads from where they were computed.

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
#include <stdexcept>

constexpr int kThreads = 256;
constexpr int kMostBlocks = 132;  // all are resident: one for each multiprocessor
constexpr int kMostWorld = 8;

// Each rank has flags that others store, the number of the last call in each: of gathers [block][source], and behind
// them of parts [source]. Release and acquire are at system scope, since the other side is another GPU. A rank may be
// ahead: at least this call. Nothing is reset.
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

__device__ void wait_for(uint32_t* flag, uint32_t call) {
  while (static_cast<int32_t>(Flag(*flag).load(cuda::memory_order_acquire) - call) < 0) {
  }
}

// X of a rank is read by its first product. A rank that stores the next call's tokens there has seen that rank's flag
// of parts, which comes behind that product: one X is enough.
__global__ void __launch_bounds__(kThreads)
    gather(const uint4* x, int64_t vectors, fabricbench::Peers<uint4> all, fabricbench::Peers<uint32_t> flags, int rank,
           int world, uint32_t call) {
  for (int64_t i = blockIdx.x * kThreads + threadIdx.x; i < vectors; i += gridDim.x * kThreads) {
    const uint4 eight = x[i];
    for (int step = 0; step < world; ++step) all.of[(rank + step) % world][rank * vectors + i] = eight;
  }
  __syncthreads();  // the block's stores are before its flags
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < world) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * world;
    Flag(flags.of[peer][first + rank]).store(call, cuda::memory_order_release);
    wait_for(flags.of[rank] + first + peer, call);
  }
}

__global__ void __launch_bounds__(kThreads) silu(__nv_bfloat162* h, int64_t pairs) {
  for (int64_t i = blockIdx.x * kThreads + threadIdx.x; i < pairs; i += gridDim.x * kThreads) {
    const float2 s = __bfloat1622float2(h[i]);
    h[i] = __floats2bfloat162_rn(s.x / (1.0f + __expf(-s.x)), s.y / (1.0f + __expf(-s.y)));
  }
}

// Parts of a rank are overwritten by its second product of the next call, which comes behind its gather: that has
// waited for flags that all ranks store when this kernel has ended there.
__global__ void __launch_bounds__(kThreads)
    add_parts(fabricbench::Peers<const uint4> parts, uint4* y, int64_t vectors, fabricbench::Peers<uint32_t> flags,
              int rank, int world, uint32_t call) {
  const int peer = static_cast<int>(threadIdx.x);
  const int64_t first = kMostBlocks * world;
  if (peer < world) {
    // The product before this kernel in the stream is before the flag.
    if (blockIdx.x == 0) Flag(flags.of[peer][first + rank]).store(call, cuda::memory_order_release);
    wait_for(flags.of[rank] + first + peer, call);
  }
  __syncthreads();  // what was acquired is for the whole block
  for (int64_t i = blockIdx.x * kThreads + threadIdx.x; i < vectors; i += gridDim.x * kThreads) {
    uint4 eight[kMostWorld] = {};  // loads first: they are under way together
#pragma unroll
    for (int source = 0; source < kMostWorld; ++source) {
      if (source < world) eight[source] = parts.of[source][rank * vectors + i];
    }
    float sums[8] = {};
#pragma unroll
    for (int source = 0; source < kMostWorld; ++source) {  // zeros behind the last one
      const uint32_t pairs[4] = {eight[source].x, eight[source].y, eight[source].z, eight[source].w};
      for (int j = 0; j < 8; ++j) {
        sums[j] += __uint_as_float(j % 2 == 0 ? pairs[j / 2] << 16 : pairs[j / 2] & 0xffff0000u);
      }
    }
    __nv_bfloat162 rounded[4];
    for (int j = 0; j < 4; ++j) rounded[j] = __floats2bfloat162_rn(sums[2 * j], sums[2 * j + 1]);
    y[i] = *reinterpret_cast<const uint4*>(rounded);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        tokens_(rank.world() * args.rows),
        x_(rank, sizeof(__nv_bfloat16) * static_cast<size_t>(tokens_ * args.hidden)),
        parts_(rank, sizeof(__nv_bfloat16) * static_cast<size_t>(tokens_ * args.hidden)),
        flags_(rank, sizeof(uint32_t) * static_cast<size_t>((kMostBlocks + 1) * rank.world())) {
    fabricbench::check_cuda(cudaMalloc(&h_, sizeof(__nv_bfloat16) * static_cast<size_t>(tokens_ * args.inner)), "h");
    check(cublasCreate(&handle_));
  }

  ~Solution() {
    cublasDestroy(handle_);
    cudaFree(h_);
  }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    const int64_t vectors = args.rows * args.hidden / 8;  // of this rank's tokens
    const auto flags = flags_.peers<uint32_t>();
    gather<<<blocks(vectors), kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(args.x), vectors, x_.peers<uint4>(),
                                                     flags, rank_, world_, call_);
    multiply(x_.mine<__nv_bfloat16>(), args.up, h_, args.hidden, args.inner);
    silu<<<blocks(tokens_ * args.inner / 2), kThreads, 0, stream>>>(reinterpret_cast<__nv_bfloat162*>(h_),
                                                                    tokens_ * args.inner / 2);
    multiply(h_, args.down, parts_.mine<__nv_bfloat16>(), args.inner, args.hidden);
    add_parts<<<blocks(vectors), kThreads, 0, stream>>>(parts_.peers<const uint4>(), reinterpret_cast<uint4*>(args.y),
                                                        vectors, flags, rank_, world_, call_);
  }

 private:
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
  }
  static unsigned blocks(int64_t items) {
    return static_cast<unsigned>(std::min<int64_t>((items + kThreads - 1) / kThreads, kMostBlocks));
  }

  // out[tokens][to] = in[tokens][from] * weights[to][from]^T; in columns, as cuBLAS has it, out^T = weights * in^T.
  void multiply(const __nv_bfloat16* in, const __nv_bfloat16* weights, __nv_bfloat16* out, int64_t from, int64_t to) {
    const float one = 1.0f;
    const float zero = 0.0f;
    const int k = static_cast<int>(from);
    const int n = static_cast<int>(to);
    check(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, n, static_cast<int>(tokens_), k, &one, weights, CUDA_R_16BF,
                       k, in, CUDA_R_16BF, k, &zero, out, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  int rank_;
  int world_;
  int64_t tokens_;  // of all ranks
  fabricbench::PeerMemory x_;
  fabricbench::PeerMemory parts_;
  fabricbench::PeerMemory flags_;
  __nv_bfloat16* h_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  uint32_t call_ = 0;
};
// [/solution]
