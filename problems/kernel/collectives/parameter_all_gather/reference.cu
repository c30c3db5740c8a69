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
constexpr int kParameters = 5;

// One word per block and peer, written by that peer only: the number of the last barrier that it has reached.
struct Flags {
  uint32_t from[kBlocks][fabricbench::kMostRanks];
};

// This rank's rows of one parameter, in quads of 16 bytes: where they are in the shard, and where they belong in the
// tensor. Padding is left out.
struct Piece {
  int64_t count, from, to;
};

// What one kernel needs to know of all parameters.
struct Plan {
  Piece piece[kParameters];
  Peers<int4> out[kParameters];
};

// Every rank stores its rows straight into the parameters of all ranks: nothing is gathered elsewhere first, and
// nothing is copied afterwards. A row is read once for all ranks.
__global__ void __launch_bounds__(kThreads)
    push(Peers<Flags> flags, const int4* shard, const __grid_constant__ Plan plan, int rank, int world,
         uint32_t epoch) {
  rank_barrier(flags, rank, world, 2 * epoch - 1);  // every rank has begun this call: its parameters may be written

  // Threads count through the rows of all parameters as if they were one piece, so that small ones cost nothing.
  int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  for (int p = 0; p < kParameters; ++p) {
    const Piece piece = plan.piece[p];
    for (; i < piece.count; i += gridDim.x * int64_t{kThreads}) {
      const int4 value = __ldg(shard + piece.from + i);
      // Ranks start with themselves, so that not all of them store to rank 0 first.
      int peer = rank;
      do {
        plan.out[p].of[peer][piece.to + i] = value;
        peer = peer + 1 < world ? peer + 1 : 0;
      } while (peer != rank);
    }
    i -= piece.count;
  }

  rank_barrier(flags, rank, world, 2 * epoch);  // every rank's stores have arrived here, and this rank's there
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        outputs_{{rank, args.qkv}, {rank, args.proj}, {rank, args.gate_up}, {rank, args.down}, {rank, args.norm}} {
    const int64_t all_rows[] = {args.qkv_rows, args.proj_rows, args.gate_up_rows, args.down_rows, args.norm_rows};
    const int64_t quads = args.hidden / 8;  // of a row
    int64_t before = 0;
    for (int p = 0; p < kParameters; ++p) {
      const int64_t rows = all_rows[p], chunk = (rows + world_ - 1) / world_;
      const int64_t first = std::min(rows, rank_ * chunk), end = std::min(rows, first + chunk);
      plan_.piece[p] = {.count = (end - first) * quads, .from = before * quads, .to = first * quads};
      plan_.out[p] = outputs_[p].peers<int4>();
      before += chunk;
    }
    // The same on all ranks, also on those with fewer rows: blocks of one number wait for each other.
    blocks_ = static_cast<int>(std::min<int64_t>(kBlocks, (before * quads + kThreads - 1) / kThreads));
  }

  void run(const Args& args, cudaStream_t stream) {
    push<<<blocks_, kThreads, 0, stream>>>(flags_.peers<Flags>(), reinterpret_cast<const int4*>(args.shard), plan_,
                                           rank_, world_, ++epoch_);
  }

 private:
  int rank_, world_, blocks_;
  uint32_t epoch_ = 0;
  Plan plan_;
  fabricbench::PeerMemory flags_, outputs_[kParameters];
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
