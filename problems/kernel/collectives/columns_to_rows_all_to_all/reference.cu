#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kBlocks = 96;                // all resident at once: they wait for their peers
constexpr int kTeam = 64, kMostRanks = 8;  // a block has two warps for each rank
constexpr int kBatch = 2;                  // loads of a thread before its stores

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][kMostRanks];  // the peer has begun the call: its `y` may be written
  uint32_t done[kBlocks][kMostRanks];   // the peer's block with this number has written its share into this `y`
};

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Team k of a block sends to the k-th rank after this one, and no team waits for another: all exchanges are under way
// at once, and a late rank holds up its own rows only.
struct Exchange {
  Peers<Flags> flags;
  int rank, world;
  uint32_t call;

  __device__ int peer() const { return (rank + static_cast<int>(threadIdx.x) / kTeam) % world; }
  // The release is there for what the stream did to `y` before this kernel: it comes before the peer's stores.
  __device__ void begin() const { barrier(&Flags::ready); }
  // Behind the barrier the release of one thread covers the stores of all.
  __device__ void end() const { barrier(&Flags::done); }

  // A barrier of the team alone.
  __device__ static void sync() {
    asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.x / kTeam + 1), "n"(kTeam) : "memory");
  }
  __device__ void barrier(uint32_t (Flags::*words)[kBlocks][kMostRanks]) const {
    sync();
    if (threadIdx.x % kTeam == 0) {
      Flag((flags.of[peer()]->*words)[blockIdx.x][rank]).store(call, cuda::memory_order_release);
      while (Flag((flags.of[rank]->*words)[blockIdx.x][peer()]).load(cuda::memory_order_acquire) < call) {
      }
    }
    sync();
  }
};

// Unit: int4 where rows begin at multiples of 16 bytes, else float; a row of `x` has `units` of them. Blocks take rows
// in turn. A row changes its place on the way: in `x` it is one of `rows` rows for that peer, in the peer's `y` one of
// `world` pieces of a longer row.
template <class Unit>
__global__ void __launch_bounds__(kTeam* kMostRanks)
    send_rows(Exchange exchange, const Unit* x, Peers<Unit> y, int64_t rows, int64_t units) {
  const int thread = static_cast<int>(threadIdx.x) % kTeam, peer = exchange.peer();
  exchange.begin();
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const Unit* from = x + (peer * rows + row) * units;
    Unit* to = y.of[peer] + (row * exchange.world + exchange.rank) * units;
    for (int64_t i = thread; i < units; i += kBatch * kTeam) {
      Unit value[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (i + k * kTeam < units) value[k] = __ldg(from + i + k * kTeam);
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (i + k * kTeam < units) to[i + k * kTeam] = value[k];
      }
    }
  }
  exchange.end();
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.y) {}

  void run(const Args& args, cudaStream_t stream) {
    if (args.cols % 4 == 0) {
      launch(reinterpret_cast<const int4*>(args.x), args.rows, args.cols / 4, stream);
    } else {
      launch(args.x, args.rows, args.cols, stream);
    }
  }

 private:
  template <class Unit>
  void launch(const Unit* x, int64_t rows, int64_t units, cudaStream_t stream) {
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, rows));
    const Exchange exchange{flags_.peers<Flags>(), rank_, world_, ++call_};
    send_rows<<<blocks, kTeam * world_, 0, stream>>>(exchange, x, outputs_.peers<Unit>(), rows, units);
  }

  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
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
