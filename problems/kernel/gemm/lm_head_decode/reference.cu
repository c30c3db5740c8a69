#include <cuda_bf16.h>
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
using bf16 = __nv_bfloat16;

constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps;
constexpr int kBlocks = 132;  // one for each multiprocessor; they wait for their peers
constexpr int kStrip = 16;    // entries of the vocabulary that a block computes at a time
constexpr int kMostSequences = 8, kMostRanks = 8;
constexpr int kAhead = 4;  // loads of 16 bytes of a row that a lane has under way

// Words are written by one peer each: the last call of which they are true.
struct Flags {
  uint32_t ready[kMostRanks];          // the peer has begun the call: its `logits` may be written
  uint32_t done[kBlocks][kMostRanks];  // the peer has written what its block with this number writes
};

// d += a b: a has 16 rows of 16, b has 8 columns of 16.
__device__ __forceinline__ void multiply(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                         uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// This warp's part of 16 entries times 8 sequences: 32 numbers of the depth in every 256. Lanes 4 g to 4 g + 3 get the
// sums of entries g and g + 8, two sequences each.
//
// Weights are read once, and are most of the bytes: they go from memory into the registers of the product, 16 bytes for
// a lane and 64 for a row. Which numbers of a row stand for which index of the product is free, as long as both factors
// agree. What is not there (entries, sequences, depth) is 0.
__device__ __forceinline__ void multiply_strip(float (&sums)[4], const uint4* weight, const uint4* x, bool second,
                                               bool sequence, int quads) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int group = lane / 4;
  const uint4 *upper = weight + int64_t{group} * quads, *lower = upper + int64_t{8} * quads;
  const uint4* state = x + group * quads;
  for (int first = warp * 4 + lane % 4; first - lane % 4 < quads; first += kAhead * kWarps * 4) {
    uint4 a[kAhead], b[kAhead], h[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {  // all loads are under way before the first is used
      const int q = first + k * kWarps * 4;
      a[k] = q < quads ? upper[q] : uint4{};
      b[k] = q < quads && second ? lower[q] : uint4{};
      h[k] = q < quads && sequence ? state[q] : uint4{};
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      multiply(sums, a[k].x, b[k].x, a[k].y, b[k].y, h[k].x, h[k].y);
      multiply(sums, a[k].z, b[k].z, a[k].w, b[k].w, h[k].z, h[k].w);
    }
  }
}

// Each block takes strips of 16 entries: its warps share the depth, add up their parts, and store the strip where it
// belongs in the logits of all ranks, while other blocks still read weights. Units of 16 bytes: `quads` of a row of x
// and weight, `across` of a row of logits.
__global__ void __launch_bounds__(kThreads)
    push_logits(Peers<Flags> flags, const uint4* x, const uint4* weight, const bf16* bias, Peers<uint4> logits,
                int batch, int quads, int rows, int rank, int world, uint32_t call) {
  __shared__ alignas(16) float parts[kWarps][kStrip][kMostSequences];
  __shared__ alignas(16) bf16 strip[kMostSequences][kStrip];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int64_t across = int64_t{world} * (rows / 8);
  // Permission to write our logits. The release is there for what the stream did to them before this kernel.
  if (blockIdx.x == 0 && thread < world) post(flags.of[thread]->ready[rank], call);

  for (int entry = static_cast<int>(blockIdx.x) * kStrip; entry < rows; entry += static_cast<int>(gridDim.x) * kStrip) {
    float sums[4] = {};
    multiply_strip(sums, weight + int64_t{entry} * quads, x, entry + 8 < rows, lane / 4 < batch, quads);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<float2*>(&parts[warp][half * 8 + lane / 4][lane % 4 * 2]) = {sums[2 * half],
                                                                                     sums[2 * half + 1]};
    }
    // Peers have begun this call, most likely long ago. The barriers that follow pass it on to all threads that store.
    if (thread < world) wait(flags.of[rank]->ready[thread], call);
    __syncthreads();
    if (thread < kStrip * kMostSequences) {
      const int row = thread / kMostSequences, sequence = thread % kMostSequences;
      float sum = entry + row < rows ? __bfloat162float(bias[entry + row]) : 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) sum += parts[w][row][sequence];
      strip[sequence][row] = __float2bfloat16(sum);
    }
    __syncthreads();  // the strip is there, and the parts have been read: the next ones may be written
    // A thread for 8 entries, a sequence and a rank.
    const int half = thread % 2, sequence = thread / 2 % kMostSequences, peer = thread / (2 * kMostSequences);
    if (peer < world && sequence < batch && entry + half * 8 < rows) {
      const int64_t column = int64_t{rank} * (rows / 8) + entry / 8 + half;
      const uint4 piece = *reinterpret_cast<const uint4*>(&strip[sequence][half * 8]);
      logits.of[peer][sequence * across + column] = piece;
    }
  }

  // Behind this kernel the logits are complete: each block has heard of the blocks with its number, and the kernel ends
  // with its last block.
  __syncthreads();  // orders the stores of all threads before the releases
  if (thread < world) {
    post(flags.of[thread]->done[blockIdx.x][rank], call);
    wait(flags.of[rank]->done[blockIdx.x][thread], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), logits_(rank, args.logits) {}

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.rows + kStrip - 1) / kStrip));
    push_logits<<<blocks, kThreads, 0, stream>>>(
        flags_.peers<Flags>(), reinterpret_cast<const uint4*>(args.x), reinterpret_cast<const uint4*>(args.weight),
        args.bias, logits_.peers<uint4>(), static_cast<int>(args.batch), static_cast<int>(args.hidden / 8),
        static_cast<int>(args.rows), rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, logits_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the product and the gather
//|   }
//| };
// [/solution]
