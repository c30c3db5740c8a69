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

constexpr int kBlocks = 64;  // all resident at once: they wait for their peers
constexpr int kThreads = 256;

// One word per block and peer, written by that peer only.
struct Flags {
  uint32_t from[kBlocks][fabricbench::kMostRanks];
};

__device__ uint4 load_four(const uint32_t* from) {
  if (reinterpret_cast<uintptr_t>(from) % sizeof(uint4) == 0) return __ldg(reinterpret_cast<const uint4*>(from));
  return make_uint4(from[0], from[1], from[2], from[3]);
}

__global__ void __launch_bounds__(kThreads)
    push(Peers<Flags> flags, const uint32_t* in, Peers<uint32_t> out, int64_t n, int rank, int world, uint32_t epoch) {
  rank_barrier(flags, rank, world, 2 * epoch - 1);  // every rank has begun this call: its output may be written

  // This shard's row begins at the same place in all outputs, not always at a multiple of 16 bytes. What crosses a link
  // shall be wide, so the stores decide: `head` words come before the first aligned place. The loads are local and
  // take the alignment that is left.
  const int64_t row = rank * n;
  const int64_t head = min(n, -row & 3), quads = (n - head) / 4;
  const int64_t thread = blockIdx.x * int64_t{kThreads} + threadIdx.x, threads = gridDim.x * int64_t{kThreads};
  for (int64_t q = thread; q < quads; q += threads) {
    const uint4 value = load_four(in + head + 4 * q);
    // Ranks start at different peers, so that not all of them store to rank 0 first.
    for (int step = 0; step < world; ++step) {
      const int peer = rank + step < world ? rank + step : rank + step - world;
      reinterpret_cast<uint4*>(out.of[peer] + row + head)[q] = value;
    }
  }
  // At most three words before the quads and three behind them.
  if (thread < n - 4 * quads) {
    const int64_t i = thread < head ? thread : thread + 4 * quads;
    for (int peer = 0; peer < world; ++peer) out.of[peer][row + i] = in[i];
  }

  rank_barrier(flags, rank, world, 2 * epoch);  // every rank's stores have arrived here, and this rank's there
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.n / 4 + kThreads) / kThreads));
    push<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), args.in, outputs_.peers<uint32_t>(), args.n, rank_,
                                          world_, ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, outputs_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-gather
//|   }
//| };
// [/solution]
