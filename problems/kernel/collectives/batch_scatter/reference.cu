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
constexpr int kThreads = 128;
constexpr int kBatch = 4;                      // loads of a thread before its stores
constexpr int64_t kPiece = kBatch * kThreads;  // quads (16 bytes) that a block copies at once

// All words hold the last call of which they are true. Roots change from call to call, and still no word is written by
// two ranks at a time: a root writes `done` of a rank only after that rank's `ready` of the same call, which the rank
// has posted after it had seen all of `done` of the call before.
struct Flags {
  uint32_t ready[fabricbench::kMostRanks];  // on the root: the peer has begun the call, its `out` may be written
  uint32_t done[kBlocks];                   // on the others: this block of the root has written all its pieces
};

// A block of the root: takes pieces of items in turn and stores each where it belongs on the item's rank.
__device__ void hand_out(const Peers<Flags>& flags, const int4* batch, const Peers<int4>& out, int64_t items,
                         int64_t quads, int rank, int world, uint32_t call) {
  const auto thread = static_cast<int>(threadIdx.x);
  // Every block waits for all peers by itself: the words are in its own GPU's memory, and no block waits for another.
  if (thread < world && thread != rank) wait(flags.of[rank]->ready[thread], call);
  __syncthreads();

  const int64_t pieces = (quads + kPiece - 1) / kPiece;  // of an item
  for (int64_t piece = blockIdx.x; piece < items * pieces; piece += gridDim.x) {
    const int64_t item = piece / pieces, first = piece % pieces * kPiece + thread;
    const int4* from = batch + item * quads;
    int4* to = out.of[item % world] + item / world * quads;
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

  __syncthreads();  // orders the stores of all threads before the releases
  if (thread < world && thread != rank) post(flags.of[thread]->done[blockIdx.x], call);
}

// The host never learns which rank is the root: every rank launches the same kernel, which reads it.
__global__ void __launch_bounds__(kThreads)
    scatter(Peers<Flags> flags, const int32_t* root, const int4* batch, Peers<int4> out, int64_t items, int64_t quads,
            int rank, int world, uint32_t call) {
  const int32_t source = __ldg(root);
  if (source == rank) return hand_out(flags, batch, out, items, quads, rank, world, call);
  // The others: one block lets the root write and waits until all of the root's blocks have.
  if (blockIdx.x != 0) return;
  // The release is there for what the stream did to `out` before this kernel: it comes before the root's stores.
  if (threadIdx.x == 0) post(flags.of[source]->ready[rank], call);
  // A thread for each of the root's blocks. The end of the kernel orders what each of them has seen before whatever
  // the stream does next.
  if (threadIdx.x < gridDim.x) wait(flags.of[rank]->done[threadIdx.x], call);
}
static_assert(kThreads >= kBlocks);

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.words / 4, pieces = args.items * ((quads + kPiece - 1) / kPiece);
    // The same on all ranks: they wait for as many words as the root has blocks.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, pieces));
    scatter<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), args.root,
                                             reinterpret_cast<const int4*>(args.batch), outputs_.peers<int4>(),
                                             args.items, quads, rank_, world_, ++call_);
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
//|     // TODO: enqueue the scatter
//|   }
//| };
// [/solution]
