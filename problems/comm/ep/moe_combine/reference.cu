#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>
#include <stdexcept>

#include "args.h"

// [solution]
// Rows are pushed to where their tokens came from, into a slot for each rank and token, and added up there. Block b
// deals with a few tokens of every rank: it sends what this rank has of them, and waits for block b of the others only.
// A flag for each block, not for each row: flags are messages and fences, too.
constexpr int kMostWorld = 8;
constexpr int kWarps = 8, kThreads = 32 * kWarps;
constexpr int kMostBlocks = 128;  // resident at once: they wait for blocks of other ranks
constexpr int kMostTokens = 32;   // of a block: one for each lane

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Memory of one rank that others write.
struct Inbox {
  uint4* rows;        // [call % 2][sender][token][hidden / 8]
  uint32_t* arrived;  // [block][sender]: the last call whose rows are there
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

__global__ void __launch_bounds__(kThreads)
    combine(Args args, const __grid_constant__ Inboxes inboxes, int rank, int world, uint32_t call, int share) {
  constexpr int kAtOnce = 4;  // loads under way in each lane
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, block = blockIdx.x;
  const int vectors = static_cast<int>(args.hidden / 8), tokens = static_cast<int>(args.tokens);
  const auto* y = reinterpret_cast<const uint4*>(args.y);
  // Two sets of slots, used in turn, are enough: a rank in call c + 2 has had our rows of c + 1, and we sent those
  // after we had read all slots of call c.
  const auto slot = [=](const Inbox& inbox, int sender, int token) {
    return inbox.rows + ((call % 2 * world + sender) * int64_t{tokens} + token) * vectors;
  };

  // Rows of a rank's tokens are sorted by token, so those of this block's tokens are neighbours.
  const int first = block * share;
  __shared__ int begin[kMostWorld], end[kMostWorld];  // rows of this block's tokens of each rank
  for (int edge = warp; edge < 2 * world; edge += kWarps) {
    const int owner = edge / 2;
    const int row = lower_bound(args.recv_token, args.recv_from[owner], args.recv_from[owner + 1],
                                edge % 2 == 0 ? first : first + share);
    if (lane == 0) (edge % 2 == 0 ? begin : end)[owner] = row;
  }
  __syncthreads();

  // Each rank starts with its right neighbour, so that not all of them send to rank 0 first. Our own tokens' rows stay
  // where they are. Rows are dealt to the warps in turn, across ranks: there may be one of each only.
  for (int step = 1, ahead = warp; step < world; ++step) {
    const int owner = rank + step < world ? rank + step : rank + step - world;
    int row = begin[owner] + ahead;
    for (; row < end[owner]; row += kWarps) {
      const uint4* from = y + int64_t{row} * vectors;
      uint4* to = slot(inboxes.of[owner], rank, args.recv_token[row]);
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
    ahead = row - end[owner];
  }

  // Which ranks had a part in our tokens? One token for each lane; loaded before the wait, used behind it.
  const int local = static_cast<int>(args.experts) / world, valid = min(share, *args.count - first);
  uint32_t ranks = 0;
  for (int j = 0; lane < valid && j < args.k; ++j) {
    if (const int expert = args.topk[(first + lane) * args.k + j]; expert >= 0) ranks |= 1u << expert / local;
  }
  const uint32_t with_us = __ballot_sync(~0u, ranks >> rank & 1);

  // Every rank signals every rank, with or without a row. One fence orders the rows of all threads, which the barrier
  // has put before it, ahead of all flags; a release in each store would make the flags wait for each other.
  __syncthreads();
  if (const int peer = threadIdx.x; peer < world && peer != rank) {
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    Flag(inboxes.of[peer].arrived[block * world + rank]).store(call, cuda::memory_order_relaxed);
    while (Flag(inboxes.of[rank].arrived[block * world + peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();

  // Warps share the tokens by parts of 32 vectors.
  const int parts = (vectors + 31) / 32;
  for (int index = warp; index < valid * parts; index += kWarps) {
    const int t = index / parts, i = index % parts * 32 + lane;
    const uint32_t from = __shfl_sync(~0u, ranks, t);
    const uint4* own = y + int64_t{begin[rank] + __popc(with_us & ((1u << t) - 1))} * vectors;
    if (i >= vectors) continue;
    uint4 part[kMostWorld];
#pragma unroll
    for (int r = 0; r < kMostWorld; ++r) {
      part[r] = from >> r & 1 ? (r == rank ? own : slot(inboxes.of[rank], r, first + t))[i] : uint4{};
    }
    float sum[8] = {};
#pragma unroll
    for (int r = 0; r < kMostWorld; ++r) add(sum, part[r]);
    reinterpret_cast<uint4*>(args.out)[int64_t{first + t} * vectors + i] = rounded(sum);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        share_(static_cast<int>((args.tokens + kMostBlocks - 1) / kMostBlocks)),
        blocks_(static_cast<int>((args.tokens + share_ - 1) / share_)),
        rows_(rank, 2 * static_cast<size_t>(world_ * args.tokens * args.hidden) * sizeof(__nv_bfloat16)),
        arrived_(rank, static_cast<size_t>(blocks_ * world_) * sizeof(uint32_t)) {
    if (share_ > kMostTokens) throw std::invalid_argument("too many tokens");
    for (int r = 0; r < world_; ++r) inboxes_.of[r] = {rows_.at<uint4>(r), arrived_.at<uint32_t>(r)};
  }

  void run(const Args& args, cudaStream_t stream) {
    combine<<<blocks_, kThreads, 0, stream>>>(args, inboxes_, rank_, world_, ++call_, share_);
  }

 private:
  int rank_, world_;
  int share_, blocks_;  // tokens of a block
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
