#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 128;

// A candidate is one number, and the order of candidates is that of numbers, larger ones first: the similarity in the
// upper 16 bits, then the number of the entry in the whole database, the smaller one first. It is never 0: similarities
// are from -32,256 to 32,256.
__device__ uint32_t candidate_of(float similarity, uint32_t entry) {
  return static_cast<uint32_t>(static_cast<int>(similarity) + 0x8000) << 16 | (0xFFFF - entry);
}
__device__ uint32_t entry_of(uint32_t candidate) { return 0xFFFF - (candidate & 0xFFFF); }

// The first k candidates of this rank for a query, in order, each with its class in the lower 32 bits; zeros behind
// them if there are fewer. A block for each query of all ranks, its threads in groups, one for each lane. The k-th of
// the groups' best candidates is a limit: k groups at most have others from there on, and the first k are among these.
__global__ void __launch_bounds__(kThreads)
    select_own(const float* similarity, const int32_t* label, uint64_t* candidates, int database, int k, int rank) {
  extern __shared__ uint32_t found[];  // room for all
  __shared__ uint32_t best_of[kThreads / kWarp][kWarp], limit;
  __shared__ int count;
  const auto thread = static_cast<int>(threadIdx.x);
  const auto first = static_cast<uint32_t>(rank * database);
  const float* row = similarity + int64_t{blockIdx.x} * database;
  uint64_t* mine = candidates + int64_t{blockIdx.x} * k;
  uint32_t best = 0;
#pragma unroll 8
  for (int j = thread; j < database; j += kThreads)
    best = max(best, candidate_of(row[j], first + static_cast<uint32_t>(j)));
  best_of[thread / kWarp][thread % kWarp] = best;
  if (thread == 0) {
    limit = 1;
    count = 0;
  }
  __syncthreads();
  if (thread < kWarp) {
    uint32_t group = 0;
    for (int warp = 0; warp < kThreads / kWarp; ++warp) group = max(group, best_of[warp][thread]);
    int before = 0;
    for (int other = 0; other < kWarp; ++other) before += __shfl_sync(~0u, group, other) > group ? 1 : 0;
    if (before == k - 1 && group != 0) limit = group;
  }
  __syncthreads();
  if (best >= limit) {
#pragma unroll 8
    for (int j = thread; j < database; j += kThreads) {
      const uint32_t candidate = candidate_of(row[j], first + static_cast<uint32_t>(j));
      if (candidate >= limit) found[atomicAdd(&count, 1)] = candidate;
    }
  }
  __syncthreads();
  for (int i = thread; i < count; i += kThreads) {
    const uint32_t candidate = found[i];
    int place = 0;
    for (int j = 0; j < count; ++j) place += found[j] > candidate ? 1 : 0;
    if (place < k) mine[place] = uint64_t{candidate} << 32 | static_cast<uint32_t>(label[entry_of(candidate) - first]);
  }
  if (thread >= count && thread < k) mine[thread] = 0;
}

// Merges the sorted candidates of all ranks [rank][query][k]: a warp for each query of this rank, in each thread one of
// the first 32 so far. The larger ones of two sorted lists, of which one is turned round, are the first of both, and
// rise and fall once: five exchanges sort them.
__global__ void __launch_bounds__(kWarp)
    merge(const uint64_t* candidates, float* similarity, int32_t* neighbour, int64_t queries, int k, int world) {
  const auto lane = static_cast<int>(threadIdx.x);
  const int64_t q = blockIdx.x;
  uint64_t best = 0;
#pragma unroll 8
  for (int rank = 0; rank < world; ++rank) {
    const int i = kWarp - 1 - lane;
    best = max(best, i < k ? candidates[(rank * queries + q) * k + i] : uint64_t{0});
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const uint64_t other = __shfl_xor_sync(~0u, best, step);
      best = (lane & step) == 0 ? max(best, other) : min(best, other);
    }
  }
  if (lane >= k) return;
  similarity[q * k + lane] = static_cast<float>(static_cast<int>(best >> 48) - 0x8000);
  neighbour[q * k + lane] = static_cast<int32_t>(best);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const auto all = static_cast<size_t>(world_ * args.queries);
    fabricbench::check_cuda(cudaMalloc(&queries_, all * static_cast<size_t>(args.dim) * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&similarities_, all * static_cast<size_t>(args.database) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&own_, all * static_cast<size_t>(args.k) * sizeof(uint64_t)));
    fabricbench::check_cuda(cudaMalloc(&received_, all * static_cast<size_t>(args.k) * sizeof(uint64_t)));
    fabricbench::check_cublas(cublasCreate(&cublas_));
    shared_ = static_cast<size_t>(args.database) * sizeof(uint32_t);
    cudaFuncAttributes attributes;
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, select_own));
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, merge));
  }
  ~Solution() {
    cublasDestroy(cublas_);
    cudaFree(queries_);
    cudaFree(similarities_);
    cudaFree(own_);
    cudaFree(received_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto dim = static_cast<int>(args.dim), database = static_cast<int>(args.database);
    const auto all = static_cast<int>(world_ * args.queries), k = static_cast<int>(args.k);
    fabricbench::check_nccl(
        ncclAllGather(args.query, queries_, static_cast<size_t>(args.queries * args.dim), ncclBfloat16, comm_, stream));
    // cuBLAS has columns where these matrices have rows: [dim][database] transposed, times [dim][all].
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, database, all, dim, &one, args.entry,
                                           CUDA_R_16BF, dim, queries_, CUDA_R_16BF, dim, &zero, similarities_,
                                           CUDA_R_32F, database, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    select_own<<<static_cast<unsigned>(all), kThreads, shared_, stream>>>(similarities_, args.label, own_, database, k,
                                                                          rank_);
    fabricbench::check_nccl(
        ncclAlltoAll(own_, received_, static_cast<size_t>(args.queries * args.k), ncclUint64, comm_, stream));
    merge<<<static_cast<unsigned>(args.queries), kWarp, 0, stream>>>(received_, args.similarity, args.neighbour,
                                                                     args.queries, k, world_);
  }

 private:
  int rank_, world_;
  size_t shared_ = 0;
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* queries_ = nullptr;               // [world][queries][dim]
  float* similarities_ = nullptr;                  // [world][queries][database]
  uint64_t *own_ = nullptr, *received_ = nullptr;  // [world][queries][k]
  cublasHandle_t cublas_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the search
//|   }
//| };
// [/solution]
