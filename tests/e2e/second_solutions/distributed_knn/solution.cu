// A kernel sends this rank's queries to all ranks and waits for theirs; cuBLAS multiplies them with this rank's
// entries; a warp for each query keeps a sorted list of the best candidates and stores it into the memory of the
// query's rank; a last kernel merges the lists of all ranks. A candidate is one word that compares as the rule says.

#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>

#include "args.h"

// [solution]
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <fabricbench/peer_memory.h>

#include <algorithm>
#include <cuda/atomic>
#include <stdexcept>

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kMostWorld = 8;
constexpr int kMostBlocks = 16;  // for each peer: 128 in all, which are resident together
constexpr int kBatch = 4;
constexpr unsigned kAll = 0xffffffffu;

// similarity + 2^16, then the complement of the entry's number, then its class: the larger word is the nearer
// neighbour. No candidate is 0.
using Candidate = unsigned long long;
constexpr int kBias = 1 << 16;
constexpr int kNumbers = 1 << 20;

__device__ Candidate candidate(float similarity, int64_t number, int32_t label) {
  const auto biased = static_cast<Candidate>(static_cast<int>(similarity) + kBias);
  return biased << 40 | static_cast<Candidate>(kNumbers - number) << 16 | static_cast<Candidate>(label);
}

// Lane i of a warp has the i-th best of the candidates so far. Each lane offers one more, or 0.
__device__ Candidate consider(Candidate list, Candidate offer, int k) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned offers = __ballot_sync(kAll, offer > __shfl_sync(kAll, list, k - 1));
  while (offers != 0) {
    const Candidate next = __shfl_sync(kAll, offer, __ffs(static_cast<int>(offers)) - 1);
    const int place = __popc(__ballot_sync(kAll, list > next));
    const Candidate above = __shfl_up_sync(kAll, list, 1);
    if (lane == place) list = next;
    if (lane > place) list = above;
    offers &= offers - 1;
  }
  return list;
}

// Block x for peer y has stored what it has for this peer, and waits for what block x of the peer stores here. Behind
// the kernel all blocks of all ranks have met. Numbers grow with each meeting: nothing is reset, and a peer that is
// ahead does no harm. Release and acquire at system scope, since the peer is another GPU.
__device__ void barrier(fabricbench::Peers<uint32_t> flags, int rank, int peer, uint32_t number) {
  using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  __syncthreads();  // the stores of the whole block are before the flag
  if (threadIdx.x > 0) return;
  Flag theirs(flags.of[peer][blockIdx.x * kMostWorld + rank]);
  Flag mine(flags.of[rank][blockIdx.x * kMostWorld + peer]);
  theirs.store(number, cuda::memory_order_release);
  while (static_cast<int32_t>(mine.load(cuda::memory_order_acquire) - number) < 0) {
  }
}

// Queries of all ranks, [source][query][dim], are read by a product. A rank that stores those of the next call has met
// this one behind that product: one buffer is enough.
__global__ void __launch_bounds__(kThreads) send(const uint4* query, int64_t vectors, fabricbench::Peers<uint4> all,
                                                 fabricbench::Peers<uint32_t> flags, int rank, uint32_t number) {
  const int peer = static_cast<int>(blockIdx.y);
  for (int64_t i = blockIdx.x * kThreads + threadIdx.x; i < vectors; i += gridDim.x * kThreads) {
    all.of[peer][rank * vectors + i] = query[i];
  }
  barrier(flags, rank, peer, number);
}

// Candidates [source][query][k] are read by `merge`. A rank that stores those of the next call has met this one in the
// next `send`, which is behind it.
__global__ void __launch_bounds__(kThreads)
    select(Args args, const float* scores, fabricbench::Peers<Candidate> candidates, fabricbench::Peers<uint32_t> flags,
           int rank, uint32_t number) {
  const int owner = static_cast<int>(blockIdx.y);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int k = static_cast<int>(args.k);
  for (int64_t i = blockIdx.x * kWarps + threadIdx.x / 32; i < args.queries; i += gridDim.x * kWarps) {
    const float* row = scores + (owner * args.queries + i) * args.database;
    Candidate list = 0;
    for (int64_t first = 0; first < args.database; first += 32 * kBatch) {
      Candidate offers[kBatch];  // loads first: they are under way together
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int64_t j = first + 32 * b + lane;
        offers[b] = j < args.database ? candidate(row[j], rank * args.database + j, args.label[j]) : 0;
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b) list = consider(list, offers[b], k);
    }
    // With fewer entries than k the rest of the list is 0.
    if (lane < k) candidates.of[owner][(rank * args.queries + i) * k + lane] = list;
  }
  barrier(flags, rank, owner, number);
}

__global__ void __launch_bounds__(kThreads) merge(Args args, const Candidate* candidates, int world) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int k = static_cast<int>(args.k);
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (i >= args.queries) return;
  Candidate list = 0;
  for (int source = 0; source < world; ++source) {
    list = consider(list, lane < k ? candidates[(source * args.queries + i) * k + lane] : 0, k);
  }
  if (lane < k) {
    args.similarity[i * k + lane] = static_cast<float>(static_cast<int>(list >> 40) - kBias);
    args.neighbour[i * k + lane] = static_cast<int32_t>(list & 0xffff);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        rows_(rank.world() * args.queries),
        queries_(rank, sizeof(__nv_bfloat16) * static_cast<size_t>(rows_ * args.dim)),
        candidates_(rank, sizeof(Candidate) * static_cast<size_t>(rows_ * args.k)),
        flags_(rank, sizeof(uint32_t) * kMostBlocks * kMostWorld) {
    fabricbench::check_cuda(cudaMalloc(&scores_, sizeof(float) * static_cast<size_t>(rows_ * args.database)), "scores");
    check(cublasCreate(&handle_));
  }

  ~Solution() {
    cublasDestroy(handle_);
    cudaFree(scores_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t vectors = args.queries * args.dim / 8;
    const auto flags = flags_.peers<uint32_t>();
    send<<<grid(vectors, kThreads), kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(args.query), vectors,
                                                           queries_.peers<uint4>(), flags, rank_, ++number_);
    // In columns, as cuBLAS has it: scores^T = entry * queries^T.
    const int entries = static_cast<int>(args.database);
    const int dim = static_cast<int>(args.dim);
    const float one = 1.0f;
    const float zero = 0.0f;
    check(cublasSetStream(handle_, stream));
    check(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, entries, static_cast<int>(rows_), dim, &one, args.entry,
                       CUDA_R_16BF, dim, queries_.mine(), CUDA_R_16BF, dim, &zero, scores_, CUDA_R_32F, entries,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    select<<<grid(args.queries, kWarps), kThreads, 0, stream>>>(args, scores_, candidates_.peers<Candidate>(), flags,
                                                                rank_, ++number_);
    merge<<<static_cast<unsigned>((args.queries + kWarps - 1) / kWarps), kThreads, 0, stream>>>(
        args, candidates_.mine<Candidate>(), world_);
  }

 private:
  dim3 grid(int64_t items, int of_block) const {
    const int64_t blocks = std::min<int64_t>((items + of_block - 1) / of_block, kMostBlocks);
    return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(world_));
  }
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
  }

  int rank_;
  int world_;
  int64_t rows_;  // queries of all ranks
  fabricbench::PeerMemory queries_;
  fabricbench::PeerMemory candidates_;
  fabricbench::PeerMemory flags_;
  float* scores_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  uint32_t number_ = 0;
};
// [/solution]
