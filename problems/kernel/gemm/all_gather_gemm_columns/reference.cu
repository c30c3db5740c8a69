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

#include <stdexcept>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;

constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps;
constexpr int kBlocks = 128;  // all resident at once: they wait for their peers

// One word for each block and sender: the last call of which the pieces of that block have arrived.
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Every rank has the whole of A twice, used in turn. A piece of a row goes straight to its place there, on every rank:
// in `a` it is one of m pieces, in the whole one of `world` pieces of its row. Nothing is packed or unpacked.
//
// Nothing waits for permission to write. In call e this writes what the owner's product of call e - 2 has read. That
// product has ended: before our call e - 1 ended, we had received the owner's pieces of call e - 1, sent by a kernel
// that its stream started behind the product of call e - 2.
__global__ void __launch_bounds__(kThreads)
    gather_columns(Peers<uint32_t> arrived, const int4* a, Peers<int4> whole, int64_t rows, int64_t quads, int rank,
                   int world, uint32_t call) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t row = int64_t{blockIdx.x} * kWarps + warp; row < rows; row += int64_t{gridDim.x} * kWarps) {
    const int64_t to = (row * world + rank) * quads;
    for (int64_t q = lane; q < quads; q += kWarp) {
      const int4 piece = __ldg(a + row * quads + q);
      // Each rank begins with another one, so that none is sent to by all at once.
      for (int peer = rank + 1; peer < world; ++peer) whole.of[peer][to + q] = piece;
      for (int peer = 0; peer <= rank; ++peer) whole.of[peer][to + q] = piece;
    }
  }

  // The barrier orders the stores of all threads before the release of one. What is acquired here is seen by the
  // product, too: it begins when all blocks have ended.
  __syncthreads();
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer < world) {
    Flag(arrived.of[peer][blockIdx.x * world + rank]).store(call, cuda::memory_order_release);
    while (Flag(arrived.of[rank][blockIdx.x * world + peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        bytes_(static_cast<size_t>(args.m * args.k * rank.world()) * sizeof(bf16)),
        arrived_(rank, static_cast<size_t>(kBlocks * rank.world()) * sizeof(uint32_t)),
        whole_(rank, 2 * bytes_) {
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() { cublasDestroy(blas_); }

  void run(const Args& args, cudaStream_t stream) {
    const size_t set = ++call_ % 2 * bytes_;
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.m + kWarps - 1) / kWarps));
    gather_columns<<<blocks, kThreads, 0, stream>>>(arrived_.peers<uint32_t>(), reinterpret_cast<const int4*>(args.a),
                                                    whole_.peers<int4>(set), args.m, args.k / 8, rank_, world_, call_);

    // By columns, as cuBLAS has it: the transpose of c is b times the transpose of A.
    const auto m = static_cast<int>(args.m), n = static_cast<int>(args.n), depth = static_cast<int>(args.k) * world_;
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const auto status =
        cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, depth, &one, args.b, CUDA_R_16BF, depth, whole_.mine(set),
                     CUDA_R_16BF, depth, &zero, args.c, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGemmEx");
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  size_t bytes_;       // of the whole of A
  fabricbench::PeerMemory arrived_, whole_;
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
//|     // TODO: enqueue the gather and the product
//|   }
//| };
// [/solution]
