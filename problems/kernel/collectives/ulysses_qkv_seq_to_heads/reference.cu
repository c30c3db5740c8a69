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

constexpr int kBlocks = 96;                // all resident at once: they wait for their peers
constexpr int kTeam = 64, kMostRanks = 8;  // a block has two warps for each rank
constexpr int kBatch = 3;                  // loads of a thread before its stores

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][kMostRanks];  // the peer has begun the call: its outputs may be written
  uint32_t done[kBlocks][kMostRanks];   // the peer's block with this number has written its tokens
};

// A barrier of the threads of a block that exchange with one rank.
__device__ void sync_team(int team) { asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(kTeam) : "memory"); }

// Sizes in quads: 16 bytes.
struct Shape {
  int64_t tokens, q, kv;  // q, kv: of a token for one rank
  int64_t copies, groups;
};

// Team k sends to the k-th rank after this one, and no team waits for another: all exchanges are under way at once, and
// a late rank holds up its own pieces only. Blocks take tokens in turn.
//
// Of a token a peer gets three pieces, one each for its `q`, `k` and `v`. To the team they are one piece of q + 2 kv
// quads: a thread finds out for each quad which of them it is in. So keys and values, short pieces with grouped
// queries, keep as many lanes busy as queries do, and one pair of flags serves all three.
__global__ void __launch_bounds__(kTeam* kMostRanks)
    exchange(Peers<Flags> flags, const int4* qkv, Peers<int4> q, Peers<int4> k, Peers<int4> v, Shape shape, int rank,
             int world, uint32_t call) {
  const int team = static_cast<int>(threadIdx.x) / kTeam, thread = static_cast<int>(threadIdx.x) % kTeam;
  const int peer = rank + team < world ? rank + team : rank + team - world;
  const auto block = blockIdx.x;

  // The release is there for what the stream did to the outputs before this kernel: it comes before the peer's stores.
  if (thread == 0) {
    post(flags.of[peer]->ready[block][rank], call);
    wait(flags.of[rank]->ready[block][peer], call);
  }
  sync_team(team);

  const int64_t row = world * shape.q + 2 * shape.groups * shape.kv, piece = shape.q + 2 * shape.kv;
  // Where quad i of the piece is in a token of `qkv`, by the part that it is in.
  const int64_t q_begin = peer * shape.q, k_begin = world * shape.q + peer / shape.copies * shape.kv - shape.q,
                v_begin = k_begin + shape.groups * shape.kv - shape.kv;
  for (int64_t token = block; token < shape.tokens; token += gridDim.x) {
    const int64_t target = rank * shape.tokens + token;
    const int4* from = qkv + token * row;
    int4 *q_to = q.of[peer] + target * shape.q, *k_to = k.of[peer] + target * shape.kv - shape.q,
         *v_to = v.of[peer] + target * shape.kv - shape.q - shape.kv;
    for (int64_t first = thread; first < piece; first += kBatch * kTeam) {
      int4 value[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int64_t i = first + b * kTeam;
        if (i < piece)
          value[b] = __ldg(from + i + (i < shape.q ? q_begin : i < shape.q + shape.kv ? k_begin : v_begin));
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int64_t i = first + b * kTeam;
        if (i < piece) (i < shape.q ? q_to : i < shape.q + shape.kv ? k_to : v_to)[i] = value[b];
      }
    }
  }

  sync_team(team);  // orders the stores of all threads before the release of one
  if (thread == 0) {
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
        q_(rank, args.q),
        k_(rank, args.k),
        v_(rank, args.v) {}

  void run(const Args& args, cudaStream_t stream) {
    const Shape shape{args.tokens, args.q_heads * args.dim / 8, args.kv_heads * args.dim / 8, args.copies,
                      (world_ + args.copies - 1) / args.copies};
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, args.tokens));
    exchange<<<blocks, kTeam * world_, 0, stream>>>(flags_.peers<Flags>(), reinterpret_cast<const int4*>(args.qkv),
                                                    q_.peers<int4>(), k_.peers<int4>(), v_.peers<int4>(), shape, rank_,
                                                    world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, q_, k_, v_;
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
