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

constexpr int kBlocks = 128;  // all resident at once: they wait for their peers
constexpr int kThreads = 128;

// One word per block and peer, written by that peer only.
struct Flags {
  uint32_t from[kBlocks][fabricbench::kMostRanks];
};

// Eight numbers, loaded by one access of 16 bytes. A bf16 is the upper half of a float.
__device__ void add_pack(float (&sum)[8], uint4 pack) {
  const uint32_t words[4] = {pack.x, pack.y, pack.z, pack.w};
  for (int k = 0; k < 4; ++k) {
    sum[2 * k] += __uint_as_float(words[k] << 16);
    sum[2 * k + 1] += __uint_as_float(words[k] & 0xffff0000);
  }
}

__device__ void store_pack(__nv_bfloat16* to, const float (&sum)[8]) {
  if (reinterpret_cast<uintptr_t>(to) % sizeof(uint4) == 0) {
    uint32_t words[4];
    for (int k = 0; k < 4; ++k) {
      const uint32_t low = __bfloat16_as_ushort(__float2bfloat16_rn(sum[2 * k]));
      const uint32_t high = __bfloat16_as_ushort(__float2bfloat16_rn(sum[2 * k + 1]));
      words[k] = high << 16 | low;
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  } else {
    for (int k = 0; k < 8; ++k) to[k] = __float2bfloat16_rn(sum[k]);
  }
}

__global__ void __launch_bounds__(kThreads) pull(Peers<Flags> flags, Peers<const __nv_bfloat16> in, __nv_bfloat16* out,
                                                 int64_t n, int rank, int world, uint32_t epoch) {
  rank_barrier(flags, rank, world, 2 * epoch - 1);  // every rank's input is there

  // The share begins at the same place in all inputs, not always at a multiple of 16 bytes. What crosses a link shall
  // be wide, so the loads decide: `head` elements come before the first aligned place. The stores are local and take
  // the alignment that is left.
  const int64_t first = rank * n / world, count = (rank + 1) * n / world - first;
  const int64_t head = min(count, -first & 7), packs = (count - head) / 8;
  const int64_t thread = blockIdx.x * int64_t{kThreads} + threadIdx.x, threads = gridDim.x * int64_t{kThreads};
  for (int64_t p = thread; p < packs; p += threads) {
    float sum[8] = {};
    // Ranks start at different peers, so that not all of them read from rank 0 first. Unrolled, so that several loads
    // are under way before the first is needed.
#pragma unroll 4
    for (int step = 0; step < world; ++step) {
      const int peer = rank + step < world ? rank + step : rank + step - world;
      add_pack(sum, reinterpret_cast<const uint4*>(in.of[peer] + first + head)[p]);
    }
    store_pack(out + head + 8 * p, sum);
  }
  // At most seven elements before the packs and seven behind them.
  if (thread < count - 8 * packs) {
    const int64_t i = thread < head ? thread : thread + 8 * packs;
    float sum = 0;
    for (int peer = 0; peer < world; ++peer) sum += __bfloat162float(in.of[peer][first + i]);
    out[i] = __float2bfloat16_rn(sum);
  }

  rank_barrier(flags, rank, world, 2 * epoch);  // every rank has read: the inputs may change
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), inputs_(rank, args.in) {}

  void run(const Args& args, cudaStream_t stream) {
    // From n and not from the own share: all ranks must have the same number of blocks, since each waits for its peers.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.n / world_ / 8 + kThreads) / kThreads));
    pull<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), inputs_.peers<const __nv_bfloat16>(), args.out, args.n,
                                          rank_, world_, ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, inputs_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the reduce-scatter
//|   }
//| };
// [/solution]
