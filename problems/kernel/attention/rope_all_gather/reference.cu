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
using fabricbench::post;
using fabricbench::wait;

constexpr int kBlocks = 128, kThreads = 256;  // all resident at once: they wait for their peers
constexpr int kMostRanks = 8;

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][kMostRanks];  // the peer has begun the call: its outputs may be written
  uint32_t done[kBlocks][kMostRanks];   // the peer's block with this number has written what it computes
};

// Eight numbers of the first half of a head and their partners of the second.
struct Pairs {
  uint4 low, high;
};

__device__ __forceinline__ Pairs rotated(const Pairs& from, const float4 (&cosines)[2], const float4 (&sines)[2]) {
  const auto *low = reinterpret_cast<const __nv_bfloat162*>(&from.low),
             *high = reinterpret_cast<const __nv_bfloat162*>(&from.high);
  Pairs to;
  auto *first = reinterpret_cast<__nv_bfloat162*>(&to.low), *second = reinterpret_cast<__nv_bfloat162*>(&to.high);
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const float2 a = __bfloat1622float2(low[n]), b = __bfloat1622float2(high[n]);
    const float2 x = reinterpret_cast<const float2*>(cosines)[n], y = reinterpret_cast<const float2*>(sines)[n];
    first[n] = __floats2bfloat162_rn(a.x * x.x - b.x * y.x, a.y * x.y - b.y * y.y);
    second[n] = __floats2bfloat162_rn(b.x * x.x + a.x * y.x, b.y * x.y + a.y * y.y);
  }
  return to;
}

// A tensor, and where its rotated form belongs on every rank. A head is 2 * units of 16 bytes.
struct Tensor {
  const uint4* in;
  Peers<uint4> out;
  int heads;
};

// Rotated numbers go from registers to all ranks: they are neither stored nor read again before they leave. Each rank
// begins with the one behind it, so that not all send to the same one.
__device__ __forceinline__ void send(const Tensor& tensor, const float4* cosines, const float4* sines, int item,
                                     int tokens, int units, int rank, int world) {
  const int row = item / units, unit = item % units, angle = (row / tensor.heads * units + unit) * 2;
  const int64_t at = int64_t{row} * 2 * units + unit;
  const Pairs from = {__ldg(tensor.in + at), __ldg(tensor.in + at + units)};
  const float4 cos[2] = {__ldg(cosines + angle), __ldg(cosines + angle + 1)};
  const float4 sin[2] = {__ldg(sines + angle), __ldg(sines + angle + 1)};
  const Pairs to = rotated(from, cos, sin);
  const int64_t there = int64_t{rank} * tokens * tensor.heads * 2 * units + at;
#pragma unroll
  for (int k = 1; k <= kMostRanks; ++k) {
    if (k > world) break;
    uint4* out = tensor.out.of[rank + k < world ? rank + k : rank + k - world];
    out[there] = to.low;
    out[there + units] = to.high;
  }
}

__global__ void __launch_bounds__(kThreads)
    rotate_and_send(Peers<Flags> flags, Tensor q, Tensor k, const float4* cosines, const float4* sines, int tokens,
                    int units, int rank, int world, uint32_t call) {
  const auto block = blockIdx.x;
  const auto peer = static_cast<int>(threadIdx.x);
  // The release is there for what the stream did to the outputs before this kernel: it comes before the peer's stores.
  if (peer < world) {
    post(flags.of[peer]->ready[block][rank], call);
    wait(flags.of[rank]->ready[block][peer], call);
  }
  __syncthreads();  // what some threads have acquired is there for all

  const int queries = tokens * q.heads * units, all = queries + tokens * k.heads * units;
  const auto stride = static_cast<int>(gridDim.x) * kThreads;
  for (int i = static_cast<int>(block) * kThreads + peer; i < all; i += stride) {
    if (i < queries) {
      send(q, cosines, sines, i, tokens, units, rank, world);
    } else {
      send(k, cosines, sines, i - queries, tokens, units, rank, world);
    }
  }

  // Behind this kernel the outputs are complete: each block has heard of the blocks with its number on all ranks. No
  // rank reads another one's inputs.
  __syncthreads();  // orders the stores of all threads before the releases
  if (peer < world) {
    post(flags.of[peer]->done[block][rank], call);
    wait(flags.of[rank]->done[block][peer], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        queries_(rank, args.q_all),
        keys_(rank, args.k_all) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto units = static_cast<int>(args.dim / 16), tokens = static_cast<int>(args.tokens);
    const Tensor q = {reinterpret_cast<const uint4*>(args.q), queries_.peers<uint4>(), static_cast<int>(args.q_heads)};
    const Tensor k = {reinterpret_cast<const uint4*>(args.k), keys_.peers<uint4>(), static_cast<int>(args.k_heads)};
    // The same on all ranks: blocks of one number wait for each other.
    const int64_t items = args.tokens * (args.q_heads + args.k_heads) * units;
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (items + kThreads - 1) / kThreads));
    rotate_and_send<<<blocks, kThreads, 0, stream>>>(
        flags_.peers<Flags>(), q, k, reinterpret_cast<const float4*>(args.cos),
        reinterpret_cast<const float4*>(args.sin), tokens, units, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, queries_, keys_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the rotation and the exchange
//|   }
//| };
// [/solution]
