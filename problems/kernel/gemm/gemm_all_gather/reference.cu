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

#include <stdexcept>

using fabricbench::Peers;
using fabricbench::post;
using fabricbench::wait;
using bf16 = __nv_bfloat16;

constexpr int kBlocks = 128, kThreads = 128;  // all resident at once: they wait for their peers

// Words are written by one peer each: the last call of which they are true.
struct Flags {
  uint32_t ready[fabricbench::kMostRanks];          // the peer has begun the call: its `c` may be written
  uint32_t done[kBlocks][fabricbench::kMostRanks];  // the peer has written what its block with this number writes
};

// Permission to write our `c`, given on a stream of its own while the product is under way: peers that want to push
// have it by then. The release is there for what the stream did to `c` before this call.
__global__ void announce(Peers<Flags> flags, int rank, int world, uint32_t call) {
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer < world) post(flags.of[peer]->ready[rank], call);
}

// The product has left this rank's columns in our `c`, where they belong; they go to the same place of every other one.
// Nothing is packed or unpacked.
__global__ void __launch_bounds__(kThreads)
    push_columns(Peers<Flags> flags, Peers<int4> c, unsigned rows, unsigned quads, int rank, int world, uint32_t call) {
  const auto peer_of_thread = static_cast<int>(threadIdx.x);
  if (peer_of_thread < world) wait(flags.of[rank]->ready[peer_of_thread], call);
  __syncthreads();

  for (unsigned q = blockIdx.x * kThreads + threadIdx.x; q < rows * quads; q += gridDim.x * kThreads) {
    const int64_t at = (int64_t{q / quads} * world + rank) * quads + q % quads;
    const int4 piece = c.of[rank][at];
    // Each rank begins with another one, so that none is sent to by all at once.
    for (int peer = rank + 1; peer < world; ++peer) c.of[peer][at] = piece;
    for (int peer = 0; peer < rank; ++peer) c.of[peer][at] = piece;
  }

  __syncthreads();  // orders the stores of all threads before the release of one
  if (peer_of_thread < world) {
    post(flags.of[peer_of_thread]->done[blockIdx.x][rank], call);
    wait(flags.of[rank]->done[blockIdx.x][peer_of_thread], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), results_(rank, args.c) {
    fabricbench::check_cuda(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&announced_, cudaEventDisableTiming));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaEventDestroy(announced_);
    cudaEventDestroy(begun_);
    cudaStreamDestroy(side_);
  }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    fabricbench::check_cuda(cudaEventRecord(begun_, stream));

    // By columns, as cuBLAS has it: this rank's rows of the transpose of c are b times the transpose of a.
    const auto m = static_cast<int>(args.m), n = static_cast<int>(args.n), k = static_cast<int>(args.k);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const auto status =
        cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, args.b, CUDA_R_16BF, k, args.a, CUDA_R_16BF, k,
                     &zero, args.c + rank_ * args.n, CUDA_R_16BF, n * world_, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGemmEx");

    fabricbench::check_cuda(cudaStreamWaitEvent(side_, begun_));
    announce<<<1, 32, 0, side_>>>(flags_.peers<Flags>(), rank_, world_, call_);
    fabricbench::check_cuda(cudaEventRecord(announced_, side_));

    const int64_t quads = args.n / 8, all = args.m * quads;
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (all + kThreads - 1) / kThreads));
    push_columns<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), results_.peers<int4>(),
                                                  static_cast<unsigned>(args.m), static_cast<unsigned>(quads), rank_,
                                                  world_, call_);
    fabricbench::check_cuda(cudaStreamWaitEvent(stream, announced_));
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, results_;
  cudaStream_t side_ = nullptr;
  cudaEvent_t begun_ = nullptr, announced_ = nullptr;
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
//|     // TODO: enqueue the product and the gather
//|   }
//| };
// [/solution]
