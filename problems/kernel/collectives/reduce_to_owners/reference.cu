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

constexpr int kBlocks = 32, kThreads = 256, kWarp = 32;  // all resident at once: they wait for their peers
constexpr int kMostWorld = 8;

// One word per block and peer, written by that peer only: the last barrier that it has reached.
struct Flags {
  uint32_t from[kBlocks][kMostWorld];
};

// Groups of four gradients, from `begin` up to `end`.
struct Range {
  int begin, end;
};

// The ranges of this rank's buckets, in their order, by one warp. The table is read here only: what follows walks
// through a list that is as short as it can be. Returns their number.
__device__ int list_own(const int32_t* ends, const int32_t* owners, int buckets, int rank, Range* own) {
  const int lane = static_cast<int>(threadIdx.x);
  int count = 0;
  for (int first = 0; first < buckets; first += kWarp) {
    const int b = first + lane;
    const bool mine = b < buckets && owners[b] == rank;
    const unsigned all = __ballot_sync(~0u, mine);
    if (mine) own[count + __popc(all & ((1u << lane) - 1))] = Range{b == 0 ? 0 : ends[b - 1] / 4, ends[b] / 4};
    count += __popc(all);
  }
  return count;
}

// Each owner reads its buckets where they are, on all ranks, and adds them up in registers. The threads of all blocks
// take the groups of all its buckets in turn, as if these were one: short buckets keep as many of them busy as long
// ones. The list is made before the barrier, so that it costs nothing where others are late.
__global__ void __launch_bounds__(kThreads)
    pull(Peers<Flags> flags, Peers<const float4> grad, const int32_t* ends, const int32_t* owners, int buckets,
         float4* sum, int rank, int world, uint32_t call) {
  extern __shared__ Range own[];
  __shared__ int count;
  if (threadIdx.x < kWarp) {
    const int found = list_own(ends, owners, buckets, rank, own);
    if (threadIdx.x == 0) count = found;
  }
  rank_barrier(flags, rank, world, 2 * call - 1);  // every rank's gradients are there, and the list is

  const int threads = static_cast<int>(gridDim.x) * kThreads;
  int next = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);  // group, over all own buckets
  for (int k = 0, before = 0; k < count; ++k) {
    const Range range = own[k];
    const int length = range.end - range.begin;
    for (; next < before + length; next += threads) {
      const int i = range.begin + next - before;
      // Unrolled, so that the loads from eight ranks are under way at once. Ranks begin with different peers.
      float4 total = make_float4(0, 0, 0, 0);
#pragma unroll 8
      for (int step = 0; step < world; ++step) {
        const int peer = rank + step < world ? rank + step : rank + step - world;
        const float4 part = grad.of[peer][i];
        total = make_float4(total.x + part.x, total.y + part.y, total.z + part.z, total.w + part.w);
      }
      sum[i] = total;
    }
    before += length;
  }

  rank_barrier(flags, rank, world, 2 * call);  // every rank has read: the inputs may change
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), inputs_(rank, args.grad) {}

  void run(const Args& args, cudaStream_t stream) {
    // From n and not from what is owned, which the host does not know: the same on all ranks, since block b waits for
    // block b.
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, args.n / 4 / world_ / kThreads + 1));
    pull<<<blocks, kThreads, static_cast<size_t>(args.buckets) * sizeof(Range), stream>>>(
        flags_.peers<Flags>(), inputs_.peers<const float4>(), args.ends, args.owners, static_cast<int>(args.buckets),
        reinterpret_cast<float4*>(args.sum), rank_, world_, ++call_);
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
//|     // TODO: enqueue the reductions
//|   }
//| };
// [/solution]
