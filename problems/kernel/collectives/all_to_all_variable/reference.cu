#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kBlocks = 64;  // all resident at once: they wait for their peers
constexpr int kThreads = 256;
constexpr int kMost = 8;   // ranks
constexpr int kBatch = 4;  // loads of a thread before its stores

struct Exchange {
  // [call % 2][source][target]: a count in the lower half, the call that it is of in the upper. A rank writes counts of
  // call e over those of call e - 2. The owner has read these: before the writer's call e - 1 ended, it had received
  // the owner's counts of call e - 1, which the owner sent in a kernel that began when that of call e - 2 had ended.
  uint64_t counts[2][kMost][kMost];
  // [peer][block]: the last call of which the peer's block has written all its rows. Written by that peer only.
  uint32_t done[kMost][kBlocks];
};

using Slot = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// All ranks learn all counts, and with them where each row goes: behind the rows of the sources before this rank. The
// counts of a rank are its permission to write into its `out`, too. Each block has adjacent rows, so that the blocks
// that run at a time write to all ranks: if they took rows in turn, all ranks would begin with those for rank 0.
__global__ void __launch_bounds__(kThreads)
    exchange(Peers<Exchange> memory, const int32_t* counts, const int4* in, int32_t* received, Peers<int4> out,
             int64_t tokens, int64_t quads, int rank, int world, uint32_t call) {
  __shared__ int32_t matrix[kMost][kMost];  // [source][target]
  __shared__ int64_t begin[kMost + 1];      // of the rows for a target, in `in`
  __shared__ int64_t shift[kMost];          // what is added to a row's number to get its place in the target's `out`
  const auto thread = static_cast<int>(threadIdx.x);
  Exchange& own = *memory.of[rank];

  if (thread < world * world) {
    const int i = thread / world, j = thread % world;
    if (blockIdx.x == 0) {
      // To rank i, the count for rank j. The release is there for what the stream did to `out` before this kernel: it
      // comes before the peers' stores.
      Slot(memory.of[i]->counts[call % 2][rank][j])
          .store(uint64_t{call} << 32 | static_cast<uint32_t>(counts[j]), cuda::memory_order_release);
    }
    // From rank i. Every block waits by itself: the words are in its own GPU's memory.
    uint64_t bits;
    do {
      bits = Slot(own.counts[call % 2][i][j]).load(cuda::memory_order_acquire);
    } while (bits >> 32 != call);
    matrix[i][j] = static_cast<int32_t>(bits);
  }
  __syncthreads();  // the other threads store after that, too
  if (thread < world) {
    int64_t mine = 0, before = 0;
    for (int d = 0; d < thread; ++d) mine += matrix[rank][d];
    for (int s = 0; s < rank; ++s) before += matrix[s][thread];
    begin[thread] = mine;
    shift[thread] = before - mine;
    if (blockIdx.x == 0) received[thread] = matrix[thread][rank];
  }
  if (thread == 0) begin[world] = tokens;
  __syncthreads();

  const int64_t last = (blockIdx.x + 1) * tokens / gridDim.x;
  int target = 0;
  for (int64_t row = blockIdx.x * tokens / gridDim.x; row < last; ++row) {
    while (row >= begin[target + 1]) ++target;  // rows ascend; ranks that get nothing are passed over
    const int4* from = in + row * quads;
    int4* to = out.of[target] + (row + shift[target]) * quads;
    for (int64_t first = thread; first < quads; first += kBatch * kThreads) {
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
  }

  __syncthreads();  // orders the stores of all threads before the releases
  if (thread < world && thread != rank) {
    Flag(memory.of[thread]->done[rank][blockIdx.x]).store(call, cuda::memory_order_release);
    while (Flag(own.done[thread][blockIdx.x]).load(cuda::memory_order_acquire) < call) {
    }
  }
}
static_assert(kThreads >= kMost * kMost);

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), memory_(rank, sizeof(Exchange)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, args.tokens));
    exchange<<<blocks, kThreads, 0, stream>>>(
        memory_.peers<Exchange>(), args.counts, reinterpret_cast<const int4*>(args.in), args.received,
        outputs_.peers<int4>(), args.tokens, args.hidden / 8, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the words of fresh memory are 0
  fabricbench::PeerMemory memory_, outputs_;
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
