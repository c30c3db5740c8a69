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

constexpr int kBlocks = 48;                       // all resident at once: they wait for their peers
constexpr int kTeam = 64, kMostThreads = 8 * 64;  // threads of a block for one rank
constexpr int kBatch = 2;                         // rows of a thread under way at once

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][fabricbench::kMostRanks];  // the peer has begun the call: its `out` may be written
  uint32_t done[kBlocks][fabricbench::kMostRanks];   // the peer's block of this number has stored everything
};

// A barrier of one team.
__device__ void sync(int team) { asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(kTeam) : "memory"); }

// Team k of each block gathers chunk k and stores it straight into the `out` of its rank; no team waits for another, so
// all exchanges are under way at once and a late rank holds up its own chunk only. Ids and rows come from memory while
// the first flags are still on their way.
__global__ void __launch_bounds__(kMostThreads)
    exchange(Peers<Flags> flags, const int32_t* id, const int4* feature, Peers<int4> out, int64_t chunk, uint32_t quads,
             int rank, int world, uint32_t call) {
  const int team = static_cast<int>(threadIdx.x) / kTeam, thread = static_cast<int>(threadIdx.x) % kTeam;
  const int peer = rank + team < world ? rank + team : rank + team - world;
  const int64_t count = chunk * quads, step = int64_t{gridDim.x} * kTeam;
  const int32_t* ids = id + team * chunk;
  int4* to = out.of[peer] + (team == 0 ? 0 : world - team) * count;  // this rank, as seen from there

  // The release is there for what the stream did to `out` before this kernel: it comes before the peer's stores.
  if (thread == 0) post(flags.of[peer]->ready[blockIdx.x][rank], call);
  bool may_write = false;
  for (int64_t first = int64_t{blockIdx.x} * kTeam; first < count; first += kBatch * step) {
    int4 value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int64_t i = first + thread + k * step;
      if (i < count) value[k] = __ldg(feature + int64_t{__ldg(ids + i / quads)} * quads + i % quads);
    }
    if (!may_write) {
      if (thread == 0) wait(flags.of[rank]->ready[blockIdx.x][peer], call);
      sync(team);
      may_write = true;
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int64_t i = first + thread + k * step;
      if (i < count) to[i] = value[k];
    }
  }

  sync(team);  // orders the stores of all threads before the release of one
  if (thread == 0) {
    post(flags.of[peer]->done[blockIdx.x][rank], call);
    wait(flags.of[rank]->done[blockIdx.x][peer], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.width / 8;
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.chunk * quads + kTeam - 1) / kTeam));
    exchange<<<blocks, kTeam * world_, 0, stream>>>(flags_.peers<Flags>(), args.id,
                                                    reinterpret_cast<const int4*>(args.feature), outputs_.peers<int4>(),
                                                    args.chunk, static_cast<uint32_t>(quads), rank_, world_, ++call_);
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
