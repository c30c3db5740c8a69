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

constexpr int kSenders = 64, kCleaners = 64;  // blocks, all resident at once: they wait for their peers
constexpr int kThreads = 256;
constexpr int kBatch = 2;                      // loads of a thread before its stores
constexpr int64_t kPiece = kBatch * kThreads;  // quads (16 bytes) that a block copies at once

// All words hold the last call of which they are true, and each is written by one rank only. One word `ready` for all
// roots would not do: a rank that is root of the next call may post there before the root of this call has.
struct Flags {
  uint32_t ready[fabricbench::kMostRanks];           // [root]: it has begun the call, its `all` may be written
  uint32_t done[fabricbench::kMostRanks][kSenders];  // [peer]: this block of the peer has written all its pieces here
};

// Blocks below `senders` store this rank's items where they belong on the root, which may be this rank. The others have
// nothing to do with links: on the root, one of them tells the peers to begin and waits for them; elsewhere they write
// zeros, while the senders are held up by the root's link, which all ranks share.
__global__ void __launch_bounds__(kThreads)
    gather(Peers<Flags> flags, const int32_t* root, const int4* part, Peers<int4> all, int64_t items, int64_t quads,
           unsigned senders, int rank, int world, uint32_t call) {
  const int32_t target = __ldg(root);
  const unsigned thread = threadIdx.x;

  if (blockIdx.x >= senders) {
    const unsigned cleaner = blockIdx.x - senders, cleaners = gridDim.x - senders;
    if (target != rank) {
      for (int64_t q = cleaner * kThreads + thread; q < items * quads; q += cleaners * kThreads)
        all.of[rank][q] = make_int4(0, 0, 0, 0);
    } else if (cleaner == 0) {
      const auto peers = static_cast<unsigned>(world);
      // The release is there for what the stream did to `all` before this kernel: it comes before the peers' stores.
      if (thread < peers && thread != static_cast<unsigned>(rank)) post(flags.of[thread]->ready[rank], call);
      // The end of the kernel orders what each thread has seen before whatever the stream does next. The root's own
      // senders end with the kernel, and post nothing.
      for (unsigned k = thread; k < peers * senders; k += kThreads) {
        if (k / senders != static_cast<unsigned>(rank)) wait(flags.of[rank]->done[k / senders][k % senders], call);
      }
    }
    return;
  }

  if (target != rank) {
    if (thread == 0) wait(flags.of[rank]->ready[target], call);
    __syncthreads();
  }
  const int64_t own = (items - rank + world - 1) / world;  // items of this rank
  const int64_t pieces = (quads + kPiece - 1) / kPiece;    // of an item
  for (int64_t piece = blockIdx.x; piece < own * pieces; piece += senders) {
    const int64_t item = piece / pieces, first = piece % pieces * kPiece + thread;
    const int4* from = part + item * quads;
    int4* to = all.of[target] + (item * world + rank) * quads;
    int4 value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * kThreads < quads) value[k] = __ldg(from + first + k * kThreads);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * kThreads < quads) to[first + k * kThreads] = value[k];
    }
  }
  if (target != rank) {
    __syncthreads();  // orders the stores of all threads before the release of one
    if (thread == 0) post(flags.of[target]->done[rank][blockIdx.x], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.all) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.width / 8, pieces = (quads + kPiece - 1) / kPiece;
    // The same on all ranks, though the first ones may have an item more: the root waits for this many of each.
    const auto senders =
        static_cast<unsigned>(std::min<int64_t>(kSenders, (args.items + world_ - 1) / world_ * pieces));
    const auto cleaners =
        static_cast<unsigned>(std::min<int64_t>(kCleaners, (args.items * quads + kThreads - 1) / kThreads));
    gather<<<senders + cleaners, kThreads, 0, stream>>>(
        flags_.peers<Flags>(), args.root, reinterpret_cast<const int4*>(args.part), outputs_.peers<int4>(), args.items,
        quads, senders, rank_, world_, ++call_);
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
//|     // TODO: enqueue the gather
//|   }
//| };
// [/solution]
