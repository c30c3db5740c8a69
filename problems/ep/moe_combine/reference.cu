#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cuda/atomic>

#include "args.h"

// [solution]
// Rows are pushed to where their tokens came from, into a slot for each rank and token, and added up there. Block t
// deals with token t of every rank: it sends what this rank has of it, and waits for block t of the others only.
constexpr int kMostWorld = 8;
constexpr int kWarps = 4, kThreads = 32 * kWarps;
constexpr int kBlocksAtOnce = 8;  // on a multiprocessor, so that the blocks of 1024 tokens are resident at once

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Memory of one rank that others write.
struct Inbox {
  uint4* rows;        // [call % 2][sender][token][hidden / 8]
  uint32_t* arrived;  // [token][sender]: the last call whose row is there, if there is one
};
struct Inboxes {
  Inbox of[kMostWorld];
};

// The first place in sorted[begin, end) whose value is not below `value`. A warp probes 32 places at a time.
__device__ int lower_bound(const int* sorted, int begin, int end, int value) {
  const int lane = threadIdx.x % 32;
  while (begin < end) {
    const int part = (end - begin + 31) / 32, last = begin + (lane + 1) * part - 1;  // of this lane's part
    const bool below = sorted[min(last, end - 1)] < value && last < end;
    begin += __popc(__ballot_sync(~0u, below)) * part;
    end = min(end, begin + part - 1);
  }
  return begin;
}

// Eight bf16. Each is the upper half of a float.
__device__ void add(float (&sum)[8], uint4 row) {
  const uint32_t pairs[4] = {row.x, row.y, row.z, row.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[2 * i] += __uint_as_float(pairs[i] << 16);
    sum[2 * i + 1] += __uint_as_float(pairs[i] & 0xffff0000);
  }
}

__device__ uint4 rounded(const float (&sum)[8]) {
  uint4 row;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&row);
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(sum[2 * i], sum[2 * i + 1]);
  return row;
}

__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    combine(Args args, const __grid_constant__ Inboxes inboxes, int rank, int world, uint32_t call) {
  constexpr int kAtOnce = 4;  // loads under way in each lane
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, token = blockIdx.x;
  const int vectors = static_cast<int>(args.hidden / 8), tokens = static_cast<int>(args.tokens);
  const auto* y = reinterpret_cast<const uint4*>(args.y);
  // Two sets of slots, used in turn, are enough: a rank in call c + 2 has had our rows of c + 1, and we sent those
  // after we had read all slots of call c.
  const auto slot = [=](const Inbox& inbox, int sender) {
    return inbox.rows + ((call % 2 * world + sender) * int64_t{tokens} + token) * vectors;
  };

  // Which ranks had a part in our token? Loaded early, used at the end.
  const int local = static_cast<int>(args.experts) / world;
  uint32_t ranks = 0;
  for (int j = 0; j < args.k; ++j) {
    if (const int expert = args.topk[token * args.k + j]; expert >= 0) ranks |= 1u << expert / local;
  }

  // Warps share the ranks. Each starts with its right neighbour, so that not all of them send to rank 0 first; itself
  // is the last, whose row stays where it is.
  __shared__ const uint4* own;
  for (int step = warp + 1; step <= world; step += kWarps) {
    const int owner = rank + step < world ? rank + step : rank + step - world, end = args.recv_from[owner + 1];
    const int row = lower_bound(args.recv_token, args.recv_from[owner], end, token);
    if (row == end || args.recv_token[row] != token) continue;  // we had no part in that rank's token
    const uint4* from = y + int64_t{row} * vectors;
    if (owner == rank) {
      if (lane == 0) own = from;
      continue;
    }
    uint4* to = slot(inboxes.of[owner], rank);
    for (int i = lane; i < vectors; i += 32 * kAtOnce) {
      uint4 part[kAtOnce];
#pragma unroll
      for (int p = 0; p < kAtOnce; ++p) {
        part[p] = i + 32 * p < vectors ? from[i + 32 * p] : uint4{};
      }
#pragma unroll
      for (int p = 0; p < kAtOnce; ++p) {
        if (i + 32 * p < vectors) to[i + 32 * p] = part[p];
      }
    }
  }

  // Every rank signals every rank, with or without a row. One fence orders the rows of all threads, which the barrier
  // has put before it, ahead of all flags; a release in each store would make the flags wait for each other.
  __syncthreads();
  if (const int peer = threadIdx.x; peer < world && peer != rank) {
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    Flag(inboxes.of[peer].arrived[token * world + rank]).store(call, cuda::memory_order_relaxed);
    while (Flag(inboxes.of[rank].arrived[token * world + peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();

  if (token >= *args.count) return;
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    uint4 part[kMostWorld];
#pragma unroll
    for (int r = 0; r < kMostWorld; ++r) {
      part[r] = ranks >> r & 1 ? (r == rank ? own : slot(inboxes.of[rank], r))[i] : uint4{};
    }
    float sum[8] = {};
#pragma unroll
    for (int r = 0; r < kMostWorld; ++r) add(sum, part[r]);
    reinterpret_cast<uint4*>(args.out)[int64_t{token} * vectors + i] = rounded(sum);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        rows_(rank, 2 * static_cast<size_t>(world_ * args.tokens * args.hidden) * sizeof(__nv_bfloat16)),
        arrived_(rank, static_cast<size_t>(args.tokens * world_) * sizeof(uint32_t)) {
    for (int r = 0; r < world_; ++r) inboxes_.of[r] = {rows_.at<uint4>(r), arrived_.at<uint32_t>(r)};
  }

  void run(const Args& args, cudaStream_t stream) {
    combine<<<static_cast<unsigned>(args.tokens), kThreads, 0, stream>>>(args, inboxes_, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory rows_, arrived_;
  Inboxes inboxes_{};
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the combine
//|   }
//| };
// [/solution]
