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

constexpr int kBlocks = 64;                     // all resident at once: they wait for their peers
constexpr int kWarp = 32, kMostThreads = 1024;  // a block has a warp for each rank

// One word per block and peer, written by that peer only; the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][fabricbench::kMostRanks];  // the peer has begun the call: its output may be written
  uint32_t done[kBlocks][fabricbench::kMostRanks];   // the peer has written its part of its block here
};

__device__ float4 load_four(const float* from) {
  if (reinterpret_cast<uintptr_t>(from) % sizeof(float4) == 0) return __ldg(reinterpret_cast<const float4*>(from));
  return make_float4(from[0], from[1], from[2], from[3]);
}

// Warp w of every block exchanges with the w-th rank after this one, and no warp knows of another: all pairs are under
// way at once, and a late rank holds up its own blocks only. The blocks share the elements of each pair.
__global__ void __launch_bounds__(kMostThreads)
    exchange(Peers<Flags> flags, const float* in, Peers<float> out, int64_t n, int rank, int world, uint32_t call) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int peer = rank + warp < world ? rank + warp : rank + warp - world;
  const auto block = blockIdx.x;

  // The release is there for what the stream did to `out` before this kernel: it comes before the peer's stores.
  if (lane == 0) {
    post(flags.of[peer]->ready[block][rank], call);
    wait(flags.of[rank]->ready[block][peer], call);
  }
  __syncwarp();  // the other lanes store after that, too

  // What crosses the link shall be wide, so the stores decide: `head` elements come before the first aligned place of
  // the target. The loads are local and take the alignment that is left.
  const float* from = in + peer * n;
  float* to = out.of[peer] + rank * n;
  const int64_t head = min(n, -(rank * n) & 3), quads = (n - head) / 4;
  const int64_t thread = block * int64_t{kWarp} + lane, threads = gridDim.x * int64_t{kWarp};
  for (int64_t q = thread; q < quads; q += threads)
    reinterpret_cast<float4*>(to + head)[q] = load_four(from + head + 4 * q);
  // At most three elements before the quads and three behind them.
  if (thread < n - 4 * quads) {
    const int64_t i = thread < head ? thread : thread + 4 * quads;
    to[i] = from[i];
  }

  __syncwarp();  // orders the stores of all lanes before the release of one
  if (lane == 0) {
    post(flags.of[peer]->done[block][rank], call);
    wait(flags.of[rank]->done[block][peer], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.n / 4 + kWarp) / kWarp));
    exchange<<<blocks, kWarp * world_, 0, stream>>>(flags_.peers<Flags>(), args.in, outputs_.peers<float>(), args.n,
                                                    rank_, world_, ++call_);
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
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the exchange
//|   }
//| };
// [/solution]
