#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kBlocks = 96;  // all resident at once: they wait for their peers
constexpr int kThreads = 256;
constexpr int kBatch = 4;  // loads of a thread under way at once

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t begun[kBlocks][fabricbench::kMostRanks];  // the peer has begun the call: its table may be read
  uint32_t done[kBlocks][fabricbench::kMostRanks];   // this block of the peer reads nothing more
};

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Reads the rows where they are. What makes it short: owners need not know which rows are wanted. So there is nothing
// to count, to sort or to send back, and rows come in the order of the ids. Its price is that a row takes a trip over
// the link and back, so each thread has several under way.
__global__ void __launch_bounds__(kThreads)
    lookup(Peers<Flags> flags, const int64_t* id, Peers<const int4> tables, int4* out, int64_t count, uint32_t rows,
           uint32_t quads, int rank, int world, uint32_t call) {
  const int peer = static_cast<int>(threadIdx.x);
  Flags& mine = *flags.of[rank];
  if (peer < world) {
    // The release is there for what the stream did to the table before this kernel.
    Flag(flags.of[peer]->begun[blockIdx.x][rank]).store(call, cuda::memory_order_release);
    while (Flag(mine.begun[blockIdx.x][peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();

  constexpr int64_t kStep = kThreads * kBatch;
  for (int64_t first = blockIdx.x * kStep + threadIdx.x; first < count; first += gridDim.x * kStep) {
    int4 value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const auto i = static_cast<uint64_t>(first + k * kThreads);
      if (first + k * kThreads < count) {
        const auto row = static_cast<uint32_t>(id[i / quads]);
        // No __ldg: the tables of other ranks change while kernels of this one run.
        value[k] = tables.of[row / rows][uint64_t{row % rows} * quads + i % quads];
      }
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * kThreads < count) out[first + k * kThreads] = value[k];
    }
  }

  // All threads have their rows: the values were stored. The barrier and the release order these reads before the
  // owner's next call, which overwrites the table.
  __syncthreads();
  if (peer < world) {
    Flag(flags.of[peer]->done[blockIdx.x][rank]).store(call, cuda::memory_order_release);
    while (Flag(mine.done[blockIdx.x][peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), tables_(rank, args.table) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t count = args.lookups * (args.width / 8);  // of 16 bytes
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (count + kThreads - 1) / kThreads));
    lookup<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), args.id, tables_.peers<const int4>(),
                                            reinterpret_cast<int4*>(args.out), count, static_cast<uint32_t>(args.rows),
                                            static_cast<uint32_t>(args.width / 8), rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory flags_, tables_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the lookup
//|   }
//| };
// [/solution]
