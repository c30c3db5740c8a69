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
constexpr int kThreads = 128;

// One word per block and peer, written by that peer only.
struct Flags {
  // The peer has begun the call with this number (upper half), so that its outputs may be written; its length (lower
  // half). One store of 8 bytes is seen as a whole, so permission and length travel together, in one trip.
  uint64_t begun[kBlocks][fabricbench::kMostRanks];
  // The peer's block of this number has stored all its tokens of this call.
  uint32_t done[kBlocks][fabricbench::kMostRanks];
};

using Begun = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;
using Done = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Every rank stores its tokens straight into `out` of all ranks, and only those that it has. The host knows no length:
// the grid is that of the longest shard, and a block may find nothing to do.
__global__ void __launch_bounds__(kThreads)
    push(Peers<Flags> flags, const int32_t* length, const int4* in, int32_t* offsets, Peers<int4> out, int64_t quads,
         int rank, int world, uint32_t call) {
  __shared__ int32_t lengths[fabricbench::kMostRanks];
  const int peer_of_thread = static_cast<int>(threadIdx.x);
  if (const int peer = peer_of_thread; peer < world) {
    // The release is there for what the stream did to `out` before this kernel: it comes before the peer's stores.
    const uint64_t word = uint64_t{call} << 32 | static_cast<uint32_t>(*length);
    Begun(flags.of[peer]->begun[blockIdx.x][rank]).store(word, cuda::memory_order_release);
    uint64_t got;
    do {
      got = Begun(flags.of[rank]->begun[blockIdx.x][peer]).load(cuda::memory_order_acquire);
    } while (got >> 32 < call);
    // Of this call and no later one: the peer ends this call only when this block has said that it is done.
    lengths[peer] = static_cast<int32_t>(got);
  }
  __syncthreads();

  int64_t before = 0;
  for (int r = 0; r < rank; ++r) before += lengths[r];
  if (blockIdx.x == 0 && peer_of_thread <= world) {
    int32_t sum = 0;
    for (int r = 0; r < peer_of_thread; ++r) sum += lengths[r];
    offsets[peer_of_thread] = sum;
  }

  const int64_t count = lengths[rank] * quads, to = before * quads;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count; i += gridDim.x * int64_t{kThreads}) {
    const int4 value = __ldg(in + i);
    // Ranks start with themselves, so that not all of them store to rank 0 first.
    int peer = rank;
    do {
      out.of[peer][to + i] = value;
      peer = peer + 1 < world ? peer + 1 : 0;
    } while (peer != rank);
  }

  // The barrier orders the stores of all threads before the fence, and the fence, at system scope, before the flags.
  __syncthreads();
  if (const int peer = peer_of_thread; peer < world) {
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    Done(flags.of[peer]->done[blockIdx.x][rank]).store(call, cuda::memory_order_relaxed);
    while (Done(flags.of[rank]->done[blockIdx.x][peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.hidden / 8;  // of a token
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.most * quads + kThreads - 1) / kThreads));
    push<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), args.length, reinterpret_cast<const int4*>(args.in),
                                          args.offsets, outputs_.peers<int4>(), quads, rank_, world_, ++call_);
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
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-gather
//|   }
//| };
// [/solution]
