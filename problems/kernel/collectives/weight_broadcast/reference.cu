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

constexpr int kBlocks = 96;  // all resident at once: they wait for their peers
constexpr int kThreads = 128;
constexpr int kDepth = 4;                     // quads that a thread loads before it stores them
constexpr int kPart = 8 * kDepth * kThreads;  // elements: what a block sends at once, with one flag
constexpr int kTensors = 3;

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// In front of the flags of all parts. One word per block and peer, written by that peer only: the number of the last
// barrier that it has reached.
struct Flags {
  uint32_t from[kBlocks][fabricbench::kMostRanks];
  uint32_t arrived[];  // for each part: the last call in which the root has sent it to this rank
};

struct Tensor {
  int64_t first, count;  // its first part, counted over all tensors; its elements
  const __nv_bfloat16* in;
  Peers<__nv_bfloat16> out;
};
struct Tensors {
  Tensor of[kTensors];
  int64_t parts;  // of all
};

// Copies elements [begin, end) of `from`, at most a part of a tensor, to the same place in the outputs of some ranks:
// those whose bits are set in `targets`, starting at `first`. All loads come before the first store, so that they are
// under way at the same time. They go past L1, which may hold what was there before.
__device__ void send(const __nv_bfloat16* from, const Peers<__nv_bfloat16>& out, int64_t begin, int64_t end, int first,
                     uint32_t targets, int world) {
  const int64_t quad = begin / 8 + threadIdx.x, quads = end / 8, i = quads * 8 + threadIdx.x;
  int4 value[kDepth];
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    if (quad + k * kThreads < quads) value[k] = __ldcg(reinterpret_cast<const int4*>(from) + quad + k * kThreads);
  }
  __nv_bfloat16 last;  // of the elements behind the last quad of a tensor
  if (i < end) last = __ldcg(from + i);
  int peer = first;
  do {
    if (targets >> peer & 1) {
      auto* to = reinterpret_cast<int4*>(out.of[peer]) + quad;
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        if (quad + k * kThreads < quads) to[k * kThreads] = value[k];
      }
      if (i < end) out.of[peer][i] = last;
    }
    peer = peer + 1 < world ? peer + 1 : 0;
  } while (peer != first);
}

// The root alone would have to send everything to each rank. Instead it sends each part to one rank only, in turn, and
// that rank hands it on to the others: everything leaves the root once and enters every rank once, and all links are
// busy at the same time. Blocks of one number work on the same parts on all ranks.
__global__ void __launch_bounds__(kThreads)
    broadcast(Peers<Flags> flags, const int32_t* root_of_call, const __grid_constant__ Tensors tensors, int rank,
              int world, uint32_t call) {
  const int root = *root_of_call;
  rank_barrier(flags, rank, world, 2 * call - 1);  // every rank has begun this call: its outputs may be written

  int t = 0;
  for (int64_t part = blockIdx.x; part < tensors.parts; part += gridDim.x) {
    while (t + 1 < kTensors && part >= tensors.of[t + 1].first) ++t;
    const Tensor& tensor = tensors.of[t];
    const int64_t begin = (part - tensor.first) * kPart, end = min(begin + kPart, tensor.count);
    const int relay = (root + 1 + static_cast<int>(part % (world - 1))) % world;
    if (rank == root) {
      send(tensor.in, tensor.out, begin, end, relay, 1u << relay | 1u << root, world);
      __syncthreads();  // orders the stores of all threads before the release of one
      if (threadIdx.x == 0) Flag(flags.of[relay]->arrived[part]).store(call, cuda::memory_order_release);
    } else if (rank == relay) {
      if (threadIdx.x == 0) {
        while (Flag(flags.of[rank]->arrived[part]).load(cuda::memory_order_acquire) < call) {
        }
      }
      __syncthreads();  // the acquire of one thread holds for all
      send(tensor.out.of[rank], tensor.out, begin, end, rank, ~(1u << rank | 1u << root), world);
    }
  }

  rank_barrier(flags, rank, world, 2 * call);  // everything has arrived here, and what this rank has sent there
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        attention_(rank, args.new_attention),
        mlp_(rank, args.new_mlp),
        norm_(rank, args.new_norm),
        tensors_(describe(args)),
        flags_(rank, sizeof(Flags) + static_cast<size_t>(tensors_.parts) * sizeof(uint32_t)) {}

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, tensors_.parts));
    broadcast<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), args.root, tensors_, rank_, world_, ++call_);
  }

 private:
  Tensors describe(const Args& args) const {
    Tensors all{};
    const auto add = [&](int k, const __nv_bfloat16* in, int64_t rows, const fabricbench::PeerMemory& out) {
      const int64_t count = rows * args.hidden;
      all.of[k] = {.first = all.parts, .count = count, .in = in, .out = out.peers<__nv_bfloat16>()};
      all.parts += (count + kPart - 1) / kPart;
    };
    add(0, args.attention, args.attention_rows, attention_);
    add(1, args.mlp, args.mlp_rows, mlp_);
    add(2, args.norm, args.norm_rows, norm_);
    return all;
  }

  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory attention_, mlp_, norm_;
  Tensors tensors_;
  fabricbench::PeerMemory flags_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the broadcast
//|   }
//| };
// [/solution]
