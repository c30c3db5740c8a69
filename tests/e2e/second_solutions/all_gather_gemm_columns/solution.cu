// A kernel stores this rank's columns into the whole A of every rank, each piece at its place in its row, and waits for
// those of all ranks; then cuBLAS makes one product of it. A is kept twice, for even and odd calls.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cublas_v2.h>

#include <stdexcept>

constexpr int kThreads = 256;
constexpr int kMostBlocks = 132;  // all are resident: one for each multiprocessor
constexpr int kBuffers = 2;

// Block b waits for block b of every rank: behind the kernel all blocks' stores of all ranks have arrived.
__global__ void __launch_bounds__(kThreads)
    gather(const uint4* a, int64_t rows, int64_t width, fabricbench::Peers<uint4> whole,
           fabricbench::Peers<uint32_t> flags, int rank, int world, uint32_t call) {
  // `width` is that of a piece of a row, in vectors of 8 numbers. The buffer of this parity was read by the product of
  // two calls ago, and all ranks' flags of the last call, which this rank has waited for, were stored behind that.
  for (int64_t i = blockIdx.x * kThreads + threadIdx.x; i < rows * width; i += gridDim.x * kThreads) {
    const uint4 eight = a[i];
    const int64_t place = (i / width * world + rank) * width + i % width;
    for (int step = 0; step < world; ++step) whole.of[(rank + step) % world][place] = eight;
  }
  // The block's stores are before its flags. Release and acquire at system scope: the other side is another GPU. A rank
  // may be a call ahead, so at least this call.
  __syncthreads();
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < world) {
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    Flag(flags.of[peer][blockIdx.x * world + rank]).store(call, cuda::memory_order_release);
    Flag mine(flags.of[rank][blockIdx.x * world + peer]);
    while (static_cast<int32_t>(mine.load(cuda::memory_order_acquire) - call) < 0) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        bytes_(sizeof(__nv_bfloat16) * static_cast<size_t>(args.m * args.k * rank.world())),
        whole_(rank, kBuffers * bytes_),
        flags_(rank, sizeof(uint32_t) * kMostBlocks * static_cast<size_t>(rank.world())) {
    check(cublasCreate(&handle_));
  }

  ~Solution() { cublasDestroy(handle_); }

  void run(const Args& args, cudaStream_t stream) {
    const size_t offset = ++call_ % kBuffers * bytes_;
    const int64_t width = args.k / 8;
    const int64_t blocks = std::min<int64_t>((args.m * width + kThreads - 1) / kThreads, kMostBlocks);
    gather<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(args.a), args.m,
                                                                   width, whole_.peers<uint4>(offset),
                                                                   flags_.peers<uint32_t>(), rank_, world_, call_);
    // In columns, as cuBLAS has it: c^T = (b^T)^T * A^T, with `depth` numbers from line to line of b and A.
    const int depth = static_cast<int>(world_ * args.k);
    const int n = static_cast<int>(args.n);
    const float one = 1.0f;
    const float zero = 0.0f;
    check(cublasSetStream(handle_, stream));
    check(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, n, static_cast<int>(args.m), depth, &one, args.b, CUDA_R_16BF,
                       depth, whole_.mine<void>(offset), CUDA_R_16BF, depth, &zero, args.c, CUDA_R_16BF, n,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

 private:
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
  }

  int rank_;
  int world_;
  size_t bytes_;  // of A
  fabricbench::PeerMemory whole_;
  fabricbench::PeerMemory flags_;
  cublasHandle_t handle_ = nullptr;
  uint32_t call_ = 0;
};
// [/solution]
