#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using fabricbench::post;
using fabricbench::wait;

constexpr int kBlocks = 96;                     // all resident at once: they wait for their peers
constexpr int kWarp = 32, kMostThreads = 1024;  // a block has two warps for each rank
constexpr int kWarpsPerPeer = 2, kBatch = 4;    // loads of a thread before its stores

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][fabricbench::kMostRanks];  // the peer has begun the call: its `out` may be written
  uint32_t done[kBlocks][fabricbench::kMostRanks];   // the peer has written the tokens of its block with this number
};

// The threads of a block that exchange with one rank: warps 2k and 2k + 1, on a barrier of their own.
__device__ void sync_pair(int pair) {
  asm volatile("bar.sync %0, %1;" ::"r"(pair + 1), "n"(kWarpsPerPeer * kWarp) : "memory");
}

// Pair k of warps sends to the k-th rank after this one, and no pair waits for another: all exchanges are under way at
// once, and a late rank holds up its own pieces only. Blocks take tokens in turn. A piece changes its place on the way:
// in `in` it is one of `world` pieces of a token, in the peer's `out` one of `tokens` pieces of this rank.
__global__ void __launch_bounds__(kMostThreads)
    exchange(Peers<Flags> flags, const int4* in, Peers<int4> out, int64_t tokens, int64_t quads, int rank, int world,
             uint32_t call) {
  const int pair = static_cast<int>(threadIdx.x) / (kWarpsPerPeer * kWarp);
  const int thread = static_cast<int>(threadIdx.x) % (kWarpsPerPeer * kWarp);
  const int peer = rank + pair < world ? rank + pair : rank + pair - world;
  const auto block = blockIdx.x;

  // The release is there for what the stream did to `out` before this kernel: it comes before the peer's stores.
  if (thread == 0) {
    post(flags.of[peer]->ready[block][rank], call);
    wait(flags.of[rank]->ready[block][peer], call);
  }
  sync_pair(pair);

  constexpr int kStride = kWarpsPerPeer * kWarp;
  for (int64_t token = block; token < tokens; token += gridDim.x) {
    const int4* from = in + (token * world + peer) * quads;
    int4* to = out.of[peer] + (rank * tokens + token) * quads;
    for (int64_t q = thread; q < quads; q += kBatch * kStride) {
      int4 value[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (q + k * kStride < quads) value[k] = __ldg(from + q + k * kStride);
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (q + k * kStride < quads) to[q + k * kStride] = value[k];
      }
    }
  }

  sync_pair(pair);  // orders the stores of all threads before the release of one
  if (thread == 0) {
    post(flags.of[peer]->done[block][rank], call);
    wait(flags.of[rank]->done[block][peer], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, args.tokens));
    exchange<<<blocks, kWarpsPerPeer * kWarp * world_, 0, stream>>>(
        flags_.peers<Flags>(), reinterpret_cast<const int4*>(args.in), outputs_.peers<int4>(), args.tokens,
        args.heads * args.dim / 8, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory flags_, outputs_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the exchange
//|   }
//| };
// [/solution]
