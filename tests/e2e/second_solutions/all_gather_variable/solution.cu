// Pulls: each rank sends every peer one 64-bit word with the number of the call and its length, and every rank then
// loads the tokens of all peers from their `in`. A second flag, after the last load, lets the owners go on.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
struct Flags {
  uint64_t length[8];  // of each rank: number of the call in the high half, its length in the low half
  uint32_t done[8];    // the last call in which that rank has loaded all that it needs from this one
  uint32_t blocks;     // blocks of this GPU that have loaded everything, of all calls
};

template <class T>
using SystemWord = cuda::atomic_ref<T, cuda::thread_scope_system>;

__global__ void gather(Args args, fabricbench::Peers<Flags> flags, fabricbench::Peers<const uint4> in, int rank,
                       int world, uint32_t call) {
  __shared__ int64_t begin[9];
  __shared__ int32_t count[8];
  __shared__ bool last;
  Flags& mine = *flags.of[rank];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t vectors = args.hidden / 8;  // of a token

  // Release at system scope: `in` was written before this kernel, and the peer that sees this word reads it.
  if (blockIdx.x == 0 && thread < world) {
    const uint64_t word = uint64_t{call} << 32 | static_cast<uint32_t>(*args.length);
    SystemWord<uint64_t>(flags.of[thread]->length[rank]).store(word, cuda::memory_order_release);
  }
  if (thread < world) {
    // Acquire at system scope, in each block: its loads come after it, the other threads' by __syncthreads.
    SystemWord<uint64_t> flag(mine.length[thread]);
    uint64_t word = flag.load(cuda::memory_order_acquire);
    while (word >> 32 != call) word = flag.load(cuda::memory_order_acquire);
    count[thread] = static_cast<int32_t>(word);
  }
  __syncthreads();
  if (thread == 0) {
    begin[0] = 0;
    for (int r = 0; r < world; ++r) begin[r + 1] = begin[r] + count[r];
  }
  __syncthreads();
  if (blockIdx.x == 0 && thread <= world) args.offsets[thread] = static_cast<int32_t>(begin[thread]);

  // Tokens of a rank are one run in its `in` and in `out`. Each rank begins with itself: no link is used by all.
  for (int step = 0; step < world; ++step) {
    const int peer = (rank + step) % world;
    const uint4* from = in.of[peer];
    uint4* to = reinterpret_cast<uint4*>(args.out) + begin[peer] * vectors;
    const int64_t all = count[peer] * vectors;
    const int64_t stride = int64_t{gridDim.x} * blockDim.x;
#pragma unroll 4
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + thread; i < all; i += stride) to[i] = from[i];
  }

  // The last block of this GPU: __syncthreads and the counter (acquire and release, at device scope) put the loads of
  // all threads of all blocks before its stores of `done`, whose release at system scope carries them to the peers.
  __syncthreads();
  if (thread == 0) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> blocks(mine.blocks);
    last = blocks.fetch_add(1, cuda::memory_order_acq_rel) + 1 == call * gridDim.x;
  }
  __syncthreads();
  if (last && thread < world) {
    SystemWord<uint32_t>(flags.of[thread]->done[rank]).store(call, cuda::memory_order_release);
    // This kernel may end, and `in` change, when all peers have loaded. Peers wait for this rank's `done` likewise, so
    // that no word of their next call arrives while a block here still waits for that of this one.
    SystemWord<uint32_t> flag(mine.done[thread]);
    while (flag.load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), in_(rank, args.in) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t vectors = args.most * args.hidden / 8;
    const int blocks = static_cast<int>(std::min<int64_t>(132, (vectors + kThreads - 1) / kThreads));
    gather<<<blocks, kThreads, 0, stream>>>(args, flags_.peers<Flags>(), in_.peers<const uint4>(), rank_, world_,
                                            ++call_);
  }

 private:
  static constexpr int kThreads = 512;

  int rank_;
  int world_;
  fabricbench::PeerMemory flags_;
  fabricbench::PeerMemory in_;
  uint32_t call_ = 0;
};
// [/solution]
