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
constexpr int kThreads = 128;

// One word per block and peer, written by that peer only: the number of the last barrier that it has reached.
struct Flags {
  uint32_t from[kBlocks][fabricbench::kMostRanks];
};

// Every rank stores its tokens straight into `out` of all ranks, where they belong: nothing is gathered elsewhere
// first, and nothing is moved afterwards. A token is read once for all ranks, and stores are not waited for one by one,
// so that few threads fill the links. The rest of the GPU is free for other work.
__global__ void __launch_bounds__(kThreads) push(Peers<Flags> flags, const int4* in, Peers<int4> out, int64_t batch,
                                                 int64_t quads, int rank, int world, uint32_t epoch) {
  rank_barrier(flags, rank, world, 2 * epoch - 1);  // every rank has begun this call: its `out` may be written

  // The tokens of one sequence on one rank are a piece of `quads` times 16 bytes. Threads count through all pieces as
  // if they were one, so that short ones keep as many threads busy as long ones.
  int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  for (int64_t sequence = 0; sequence < batch; ++sequence, i -= quads) {
    const int4* from = in + sequence * quads;
    const int64_t to = (sequence * world + rank) * quads;
    for (; i < quads; i += gridDim.x * int64_t{kThreads}) {
      const int4 value = __ldg(from + i);
      // Ranks start with themselves, so that not all of them store to rank 0 first.
      int peer = rank;
      do {
        out.of[peer][to + i] = value;
        peer = peer + 1 < world ? peer + 1 : 0;
      } while (peer != rank);
    }
  }

  rank_barrier(flags, rank, world, 2 * epoch);  // every rank's tokens have arrived here, and this rank's there
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.tokens * args.hidden / 8;
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.batch * quads + kThreads - 1) / kThreads));
    push<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), reinterpret_cast<const int4*>(args.in),
                                          outputs_.peers<int4>(), args.batch, quads, rank_, world_, ++epoch_);
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
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-gather
//|   }
//| };
// [/solution]
