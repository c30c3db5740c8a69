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

constexpr int kBlocks = 128;  // all resident at once: they wait for their peers
constexpr int kThreads = 256;
constexpr int kBatch = 2;                      // loads of a thread before its stores
constexpr int64_t kPiece = kBatch * kThreads;  // quads (16 bytes) that a block copies at once

// One word for each share and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][fabricbench::kMostRanks];  // the peer has begun the call: its `out` may be written
  uint32_t done[kBlocks][fabricbench::kMostRanks];   // the peer has written this share of its rows
};

// Each block deals with one peer and copies one share of the rows for it; its partner is the block of the peer that
// deals with this rank and has the same share. Blocks of all peers alternate, beginning with the rank behind this one:
// every pair of ranks is under way at once, and ranks begin with different peers.
//
// What a block reads is this rank's own, so it loads its first piece while the word of the peer is on its way.
__global__ void __launch_bounds__(kThreads)
    exchange(Peers<Flags> flags, const int4* in, Peers<int4> out, int64_t quads, int rank, int world, uint32_t call) {
  const auto block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int peer = (rank + 1 + block % world) % world, share = block / world;
  const int shares = static_cast<int>(gridDim.x) / world;
  const bool remote = peer != rank;

  // The release is there for what the stream did to `out` before this kernel: it comes before the peer's stores.
  if (remote && thread == 0) post(flags.of[peer]->ready[share][rank], call);

  const int4* from = in + peer * quads;
  int4* to = out.of[peer] + rank * quads;
  for (int64_t piece = share; piece * kPiece < quads; piece += shares) {
    const int64_t first = piece * kPiece + thread;
    int4 value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * kThreads < quads) value[k] = __ldg(from + first + k * kThreads);
    }
    if (piece == share && remote) {  // before the first store
      if (thread == 0) wait(flags.of[rank]->ready[share][peer], call);
      __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * kThreads < quads) to[first + k * kThreads] = value[k];
    }
  }

  if (!remote) return;
  __syncthreads();  // orders the stores of all threads before the release of one
  if (thread == 0) {
    post(flags.of[peer]->done[share][rank], call);
    wait(flags.of[rank]->done[share][peer], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.rows * args.hidden / 8, pieces = (quads + kPiece - 1) / kPiece;
    // The same on all ranks, and no share without a piece.
    const auto shares = static_cast<int>(std::min<int64_t>(kBlocks / world_, pieces));
    exchange<<<shares * world_, kThreads, 0, stream>>>(flags_.peers<Flags>(), reinterpret_cast<const int4*>(args.in),
                                                       outputs_.peers<int4>(), quads, rank_, world_, ++call_);
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
