#include <cuda_bf16.h>
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
using fabricbench::rank_barrier;

constexpr int kBlocks = 32, kThreads = 256;  // all resident at once: they wait for their peers
constexpr int kMostWorld = 8;

// One word per block and peer, written by that peer only: the last barrier that it has reached.
struct Flags {
  uint32_t from[kBlocks][kMostWorld];
};

// Eight numbers, 16 bytes. A bf16 is the upper half of a float; the first of a word is its lower half.
struct alignas(16) Pack {
  uint32_t word[4];
};

struct Total {
  float2 sum[4] = {};

  __device__ void add(Pack part) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      sum[k].x += __uint_as_float(part.word[k] << 16);
      sum[k].y += __uint_as_float(part.word[k] & 0xffff0000U);
    }
  }
  __device__ Pack rounded() const {
    Pack result;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const __nv_bfloat162 pair = __float22bfloat162_rn(sum[k]);
      result.word[k] = *reinterpret_cast<const uint32_t*>(&pair);
    }
    return result;
  }
};

// Each rank reads its rows where they are, on all ranks, and adds them up in registers: what crosses a link is bf16 and
// crosses one link once, what is added up is float, and nothing is staged. A share is contiguous, so that rows need not
// be told apart.
__global__ void __launch_bounds__(kThreads) pull(Peers<Flags> flags, Peers<const Pack> partial, Pack* out,
                                                 int64_t first, int64_t packs, int rank, int world, uint32_t call) {
  rank_barrier(flags, rank, world, 2 * call - 1);  // every rank's input is there

  for (int64_t p = int64_t{blockIdx.x} * kThreads + threadIdx.x; p < packs; p += int64_t{gridDim.x} * kThreads) {
    // Unrolled, so that the loads from eight ranks are under way at once. Ranks begin with different peers.
    Total total;
#pragma unroll 8
    for (int step = 0; step < world; ++step) {
      const int peer = rank + step < world ? rank + step : rank + step - world;
      total.add(partial.of[peer][first + p]);
    }
    out[p] = total.rounded();
  }

  rank_barrier(flags, rank, world, 2 * call);  // every rank has read: the inputs may change
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), inputs_(rank, args.partial) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.cols / 8, longest = (args.rows + world_ - 1) / world_;
    const int64_t first = rank_ * args.rows / world_, end = (rank_ + 1) * args.rows / world_;
    // From the longest share and not from the own one: the same on all ranks, since block b waits for block b.
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, (longest * quads + kThreads - 1) / kThreads));
    pull<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), inputs_.peers<const Pack>(),
                                          reinterpret_cast<Pack*>(args.out), first * quads, (end - first) * quads,
                                          rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, inputs_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the reduce-scatter
//|   }
//| };
// [/solution]
