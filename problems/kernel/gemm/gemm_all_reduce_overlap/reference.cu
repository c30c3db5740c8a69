#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>
#include <vector>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;

constexpr int kThreads = 256, kBlocks = 128;  // all resident at once: they wait for their peers
constexpr int kMostRanks = 8;

// Written by the peer of that number only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][kMostRanks];  // the peer's parts are in the inboxes, and its `y` may be written
  uint32_t done[kBlocks][kMostRanks];   // the peer's block with this number has written its sums, and read its inbox
};

// Thread i posts to rank i, and waits until rank i has posted to this one.
__device__ void exchange(uint32_t& there, uint32_t& here, uint32_t call) {
  fabricbench::post(there, call);
  fabricbench::wait(here, call);
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

// Each rank owns some columns of the sum. Its inbox has the parts of all ranks, [sender][token][column]; it adds them
// up and writes the sums into every rank's `y`. Units of 16 bytes: `width` of an inbox's row, `hidden` of a row of `y`;
// this rank's columns begin at `first`, and `columns` of the width are in use.
__global__ void __launch_bounds__(kThreads)
    add_and_send(Peers<Flags> flags, const int4* inbox, Peers<int4> y, int64_t tokens, int64_t width, int64_t first,
                 int64_t columns, int64_t hidden, int rank, int world, uint32_t call) {
  const auto block = blockIdx.x;
  const auto peer = static_cast<int>(threadIdx.x);
  // The release is there for what the stream did before this kernel: the product's stores into inboxes, and whatever
  // used this rank's `y` last.
  if (peer < world) exchange(flags.of[peer]->ready[block][rank], flags.of[rank]->ready[block][peer], call);
  __syncthreads();  // what some threads have acquired is there for all

  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{block} * kThreads + threadIdx.x; i < tokens * columns; i += stride) {
    const int64_t token = i / columns, column = i % columns;
    int4 bits[kMostRanks];  // all loads are under way before the first is used
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      if (k < world) bits[k] = inbox[(k * tokens + token) * width + column];
    }
    float2 sums[4] = {};
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      if (k < world) add(sums, bits[k]);
    }
    const int4 result = rounded(sums);
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      if (k < world) y.of[rank + k < world ? rank + k : rank + k - world][token * hidden + first + column] = result;
    }
  }

  // Behind this kernel `y` is complete, and peers have read what this rank's next product overwrites: each block has
  // waited for the blocks with its number, and the kernel ends with its last block.
  __syncthreads();  // orders the loads and stores of all threads before the releases
  if (peer < world) exchange(flags.of[peer]->done[block][rank], flags.of[rank]->done[block][peer], call);
}

// The product stores its tiles where they are added up: it is a batch of products, one for the columns of each rank,
// and their results are inboxes in the memory of these ranks. So half of the exchange is over when the product is.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        width_((args.hidden / 8 + world_ - 1) / world_ * 8),
        whole_(static_cast<int>(args.hidden / width_)),
        flags_(rank, sizeof(Flags)),
        inboxes_(rank, static_cast<size_t>(world_ * args.tokens * width_) * sizeof(bf16)),
        outputs_(rank, args.y) {
    fabricbench::check_cublas(cublasCreate(&blas_));
    // The factors and the result of each product of the batch. Each rank begins with the one behind it, so that
    // not all send to the same one.
    std::vector<const void*> factors;
    for (int k = 1; k <= whole_; ++k) factors.push_back(args.weight + (rank_ + k) % whole_ * width_ * args.depth);
    for (int k = 0; k < whole_; ++k) factors.push_back(args.x);
    for (int k = 1; k <= whole_; ++k) factors.push_back(inbox((rank_ + k) % whole_, args.tokens));
    const size_t bytes = factors.size() * sizeof(void*);
    fabricbench::check_cuda(cudaMalloc(&pointers_, bytes));
    fabricbench::check_cuda(cudaMemcpy(pointers_, factors.data(), bytes, cudaMemcpyHostToDevice));
  }
  ~Solution() {
    cudaFree(pointers_);
    cublasDestroy(blas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto tokens = static_cast<int>(args.tokens), depth = static_cast<int>(args.depth),
               width = static_cast<int>(width_);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    // cuBLAS has matrices by columns: what is x weight^T by rows is (weight x^T)^T there.
    fabricbench::check_cublas(cublasGemmBatchedEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, width, tokens, depth, &one,
                                                  pointers_, CUDA_R_16BF, depth, pointers_ + whole_, CUDA_R_16BF, depth,
                                                  &zero, const_cast<void**>(pointers_ + 2 * whole_), CUDA_R_16BF, width,
                                                  whole_, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    // What is left where the columns are not a multiple of the ranks: the rank behind the whole ones has less.
    if (const int64_t rest = args.hidden - whole_ * width_; rest > 0) {
      fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(rest), tokens, depth,
                                             &one, args.weight + whole_ * width_ * depth, CUDA_R_16BF, depth, args.x,
                                             CUDA_R_16BF, depth, &zero, inbox(whole_, args.tokens), CUDA_R_16BF, width,
                                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
    const int64_t first = std::min(rank_ * width_, args.hidden), columns = std::min(width_, args.hidden - first);
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks =
        static_cast<int>(std::min<int64_t>(kBlocks, (args.tokens * width_ / 8 + kThreads - 1) / kThreads));
    add_and_send<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), inboxes_.mine<const int4>(),
                                                  outputs_.peers<int4>(), args.tokens, width_ / 8, first / 8,
                                                  columns / 8, args.hidden / 8, rank_, world_, ++call_);
  }

 private:
  // Where this rank's part of the owner's columns belongs.
  bf16* inbox(int owner, int64_t tokens) const { return inboxes_.at<bf16>(owner) + rank_ * tokens * width_; }

  int rank_, world_;
  int64_t width_;      // columns that a rank owns, a multiple of 8; the last ranks may have fewer, or none
  int whole_;          // ranks that own as many
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, inboxes_, outputs_;
  cublasHandle_t blas_ = nullptr;
  const void** pointers_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the product and the sum over ranks
//|   }
//| };
// [/solution]
