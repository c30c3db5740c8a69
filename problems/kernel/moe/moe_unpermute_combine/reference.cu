#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
// Each choice has a slot at its token's rank, so that a row can go straight to its place: nothing has to be sorted or
// counted, and the host need not know how many rows there are.
constexpr int kThreads = 128;
constexpr int kMostBlocks = 128;  // all resident at once: they wait for their peers
constexpr int kMostWorld = 8, kMostChoices = 8;
constexpr int kBatch = 4;  // loads of a thread before its stores

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Memory of one rank that others write. Two sets, used in turn. In call e a rank writes slots that their owner has read
// in call e - 2: the writer's call e - 1 has ended since, after the owner's flag of call e - 1, which the owner posted
// in a kernel that its stream started after that of call e - 2. No permission is needed.
struct Inbox {
  uint4* rows;        // [call % 2][token][choice][hidden / 8]
  uint32_t* arrived;  // [sender]: the last call whose rows are there
};
struct Inboxes {
  Inbox of[kMostWorld];
};

__device__ void copy(uint4* to, const uint4* from, int vectors) {
  for (int first = static_cast<int>(threadIdx.x); first < vectors; first += kBatch * kThreads) {
    uint4 part[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      if (first + b * kThreads < vectors) part[b] = from[first + b * kThreads];
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      if (first + b * kThreads < vectors) to[first + b * kThreads] = part[b];
    }
  }
}

__device__ void add(float (&sum)[8], uint4 row, float weight) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&row);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    sum[2 * i] += weight * pair.x;
    sum[2 * i + 1] += weight * pair.y;
  }
}

__device__ uint4 rounded(const float (&sum)[8]) {
  uint4 row;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&row);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(sum[2 * i], sum[2 * i + 1]);
  return row;
}

__global__ void __launch_bounds__(kThreads)
    combine(Args args, const __grid_constant__ Inboxes inboxes, uint32_t* tickets, int rank, int world, uint32_t call) {
  const auto thread = static_cast<int>(threadIdx.x), vectors = static_cast<int>(args.hidden / 8);
  const auto choices = static_cast<int>(args.tokens * args.k), k = static_cast<int>(args.k);
  const int64_t set = call % 2 * choices;

  const int rows = __ldg(args.expert_offsets + args.local);
  for (auto i = static_cast<int>(blockIdx.x); i < rows; i += static_cast<int>(gridDim.x)) {
    const int choice = __ldg(args.recv_from + i);
    copy(inboxes.of[choice / choices].rows + (set + choice % choices) * vectors,
         reinterpret_cast<const uint4*>(args.y) + int64_t{i} * vectors, vectors);
  }

  // The last block to finish tells all ranks that everything is there. The barrier puts all threads' stores before the
  // ticket; its release and acquire order them between the blocks of this GPU, and the release of the flag, at system
  // scope, before what its reader does. Ranks without a row tell it, too.
  __syncthreads();
  __shared__ bool last;
  if (thread == 0) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> ticket(*tickets);
    last = (ticket.fetch_add(1, cuda::memory_order_acq_rel) + 1) % gridDim.x == 0;
  }
  __syncthreads();
  if (last && thread < world) Flag(inboxes.of[thread].arrived[rank]).store(call, cuda::memory_order_release);
  if (thread < world) {
    while (Flag(inboxes.of[rank].arrived[thread]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();

  // A block takes parts of tokens, 8 numbers for each thread.
  const int parts = (vectors + kThreads - 1) / kThreads;
  for (auto i = static_cast<int>(blockIdx.x); i < static_cast<int>(args.tokens) * parts;
       i += static_cast<int>(gridDim.x)) {
    const int token = i / parts, vector = i % parts * kThreads + thread;
    if (vector >= vectors) continue;
    const uint4* row = inboxes.of[rank].rows + (set + token * k) * vectors + vector;
    uint4 part[kMostChoices];
    float weight[kMostChoices];
#pragma unroll
    for (int j = 0; j < kMostChoices; ++j) {
      const bool there = j < k && __ldg(args.ids + token * k + j) >= 0;
      part[j] = there ? row[int64_t{j} * vectors] : uint4{};
      weight[j] = there ? __ldg(args.weights + token * k + j) : 0;
    }
    float sum[8] = {};
#pragma unroll
    for (int j = 0; j < kMostChoices; ++j) add(sum, part[j], weight[j]);
    reinterpret_cast<uint4*>(args.out)[int64_t{token} * vectors + vector] = rounded(sum);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        rows_(rank, 2 * static_cast<size_t>(args.tokens * args.k * args.hidden) * sizeof(__nv_bfloat16)),
        arrived_(rank, kMostWorld * sizeof(uint32_t)) {
    for (int r = 0; r < world_; ++r) inboxes_.of[r] = {rows_.at<uint4>(r), arrived_.at<uint32_t>(r)};
    fabricbench::check_cuda(cudaMalloc(&tickets_, sizeof(uint32_t)));
    fabricbench::check_cuda(cudaMemset(tickets_, 0, sizeof(uint32_t)));
  }
  ~Solution() { cudaFree(tickets_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kMostBlocks, args.tokens * args.k));
    combine<<<blocks, kThreads, 0, stream>>>(args, inboxes_, tickets_, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory rows_, arrived_;
  Inboxes inboxes_{};
  uint32_t* tickets_ = nullptr;  // blocks that have sent everything, over all calls
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the combine
//|   }
//| };
// [/solution]
