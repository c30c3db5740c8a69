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

constexpr int kBlocks = 64, kThreads = 128;  // all resident at once: they wait for their peers
constexpr int kMostWorld = 8, kTensors = 4;

// One word per block and peer, written by that peer only: the last barrier that it has reached.
struct Flags {
  uint32_t from[kBlocks][kMostWorld];
};

// All tensors as one sequence of quads (four floats): tensor k has those from begin[k] up to begin[k + 1].
struct Tensors {
  const float4* in[kTensors];
  float4* out[kMostWorld][kTensors];
  int begin[kTensors + 1];

  __device__ int tensor_of(int quad) const {
    int k = 0;
#pragma unroll
    for (int next = 1; next < kTensors; ++next) k += quad >= begin[next] ? 1 : 0;
    return k;
  }
  __device__ float4 load(int quad) const {
    const int k = tensor_of(quad);
    return __ldg(in[k] + quad - begin[k]);
  }
};

// Two shots over the sequence, whatever tensor a quad is of. Each rank adds up one slice of it. All data is sent and
// none fetched, so that only the flags behind it are waited for:
//
// 1. Every rank sends its numbers of each slice to slots of the rank that adds them up. Slots [call % 2][sender][quad]
//    need no permission: in call e they hold numbers of call e - 2. The owner has read those, because the writer's
//    block and the owner's had a barrier in call e - 1, which that had reached from a kernel after call e - 2.
// 2. A barrier: slots are full. It is also the permission to write outputs, as every rank has begun the call.
// 3. Each rank adds up its slots, in the order of ranks, and sends the sums to the outputs of all ranks.
// 4. A barrier: outputs are full.
//
// A block takes the same quads of each slice on all ranks, so that it waits for blocks of its number alone.
__global__ void __launch_bounds__(kThreads)
    all_reduce(Peers<Flags> flags, Peers<float4> slots, Tensors tensors, int rank, int world, uint32_t call) {
  __builtin_assume(world > 1);  // loops over ranks need not look whether there are any
  const int quads = tensors.begin[kTensors], longest = (quads + world - 1) / world;
  const auto slice = [=](int r) { return min(r * longest, quads); };
  const int set = static_cast<int>(call % 2) * world * longest;
  const int first = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(gridDim.x) * kThreads;

  for (int i = first; i < longest; i += threads) {
    // Unrolled, so that the loads for eight ranks are under way at once. Ranks begin with different peers.
#pragma unroll 8
    for (int step = 0; step < world; ++step) {
      const int peer = rank + step < world ? rank + step : rank + step - world;
      const int quad = slice(peer) + i;
      if (quad < slice(peer + 1)) slots.of[peer][set + rank * longest + i] = tensors.load(quad);
    }
  }
  rank_barrier(flags, rank, world, 2 * call - 1);

  for (int i = first; i < slice(rank + 1) - slice(rank); i += threads) {
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (int r = 0; r < world; ++r) {
      const float4 part = slots.of[rank][set + r * longest + i];
      sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
    }
    const int quad = slice(rank) + i, k = tensors.tensor_of(quad);
    for (int step = 0; step < world; ++step) {
      const int peer = rank + step < world ? rank + step : rank + step - world;
      tensors.out[peer][k][quad - tensors.begin[k]] = sum;
    }
  }
  rank_barrier(flags, rank, world, 2 * call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        longest_((quads(args) + world_ - 1) / world_),
        flags_(rank, sizeof(Flags)),
        slots_(rank, 2 * static_cast<size_t>(world_ * longest_) * sizeof(float4)),
        outputs_{{rank, args.gate_a_sum}, {rank, args.gate_b_sum}, {rank, args.down_a_sum}, {rank, args.down_b_sum}} {}

  void run(const Args& args, cudaStream_t stream) {
    Tensors tensors{};
    const float* in[kTensors] = {args.gate_a, args.gate_b, args.down_a, args.down_b};
    const int64_t columns[kTensors] = {args.hidden, args.ffn, args.ffn, args.hidden};
    for (int k = 0; k < kTensors; ++k) {
      tensors.in[k] = reinterpret_cast<const float4*>(in[k]);
      tensors.begin[k + 1] = tensors.begin[k] + static_cast<int>(args.experts * args.lora * columns[k] / 4);
      for (int peer = 0; peer < world_; ++peer) tensors.out[peer][k] = outputs_[k].at<float4>(peer);
    }
    // The same on all ranks: block b waits for block b.
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, (longest_ + kThreads - 1) / kThreads));
    all_reduce<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), slots_.peers<float4>(), tensors, rank_, world_,
                                                ++call_);
  }

 private:
  static int64_t quads(const Args& args) { return args.experts * args.lora * (args.hidden + args.ffn) / 2; }

  int rank_, world_;
  int64_t longest_;    // quads of a slice, at most
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, slots_, outputs_[kTensors];
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-reduce
//|   }
//| };
// [/solution]
