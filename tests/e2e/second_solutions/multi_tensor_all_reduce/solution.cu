// One kernel for all four tensors, taken as one long row of vectors of 4 floats: each rank reads its part of the row
// from all ranks' inputs, adds it up, and stores the sums into all ranks' outputs. Barriers of the blocks with the same
// number on all ranks before and behind it.

#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kThreads = 256;
constexpr int kMostBlocks = 132;  // all are resident: one for each multiprocessor
constexpr int kMostWorld = 8;
constexpr int kTensors = 4;

struct Tensors {
  const float4* in[kTensors][kMostWorld];
  float4* sum[kTensors][kMostWorld];
  int64_t end[kTensors];        // of each tensor in the row of all, in vectors
  uint32_t* flags[kMostWorld];  // [block][source] of each rank: the last barrier that the source has reached
};

// Thread p of a block exchanges flags with the same block of rank p. All blocks of a rank do so with all ranks, so
// behind the kernel all blocks of all ranks have arrived. Numbers grow, so nothing is reset and a rank that is ahead
// does no harm.
__device__ void barrier(const Tensors& tensors, int rank, int world, uint32_t number) {
  __syncthreads();  // what the block has done before is before the flag
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < world) {
    // System scope, since the other side is another GPU. Release: of reads and stores of the block before, and of what
    // came before the kernel in its stream. Acquire: of the same on the other side.
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    Flag(tensors.flags[peer][blockIdx.x * world + rank]).store(number, cuda::memory_order_release);
    Flag mine(tensors.flags[rank][blockIdx.x * world + peer]);
    while (static_cast<int32_t>(mine.load(cuda::memory_order_acquire) - number) < 0) {
    }
  }
  __syncthreads();  // for the whole block
}

__global__ void __launch_bounds__(kThreads)
    all_reduce(const __grid_constant__ Tensors tensors, int rank, int world, uint32_t number) {
  // All ranks have begun this call: inputs are there, outputs of the last call are taken.
  barrier(tensors, rank, world, number);
  const int64_t total = tensors.end[kTensors - 1];
  const int64_t part = (total + world - 1) / world;
  const int64_t end = min((rank + 1) * part, total);
  for (int64_t v = rank * part + blockIdx.x * kThreads + threadIdx.x; v < end; v += gridDim.x * kThreads) {
    int tensor = 0;
    while (v >= tensors.end[tensor]) ++tensor;
    const int64_t at = tensor == 0 ? v : v - tensors.end[tensor - 1];
    float4 parts[kMostWorld];  // loads first: they are under way together
#pragma unroll
    for (int r = 0; r < kMostWorld; ++r) {
      if (r < world) parts[r] = tensors.in[tensor][r][at];
    }
    float4 sum = parts[0];
#pragma unroll
    for (int r = 1; r < kMostWorld; ++r) {
      if (r >= world) break;
      sum.x += parts[r].x;
      sum.y += parts[r].y;
      sum.z += parts[r].z;
      sum.w += parts[r].w;
    }
    for (int step = 0; step < world; ++step) tensors.sum[tensor][(rank + step) % world][at] = sum;
  }
  // Everything has arrived here, and no rank reads this one's inputs any more.
  barrier(tensors, rank, world, number + 1);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(uint32_t) * kMostBlocks * kMostWorld),
        gate_a_(rank, args.gate_a),
        gate_b_(rank, args.gate_b),
        down_a_(rank, args.down_a),
        down_b_(rank, args.down_b),
        gate_a_sum_(rank, args.gate_a_sum),
        gate_b_sum_(rank, args.gate_b_sum),
        down_a_sum_(rank, args.down_a_sum),
        down_b_sum_(rank, args.down_b_sum) {
    const fabricbench::PeerMemory* in[kTensors] = {&gate_a_, &gate_b_, &down_a_, &down_b_};
    const fabricbench::PeerMemory* sum[kTensors] = {&gate_a_sum_, &gate_b_sum_, &down_a_sum_, &down_b_sum_};
    const int64_t widths[kTensors] = {args.hidden, args.ffn, args.ffn, args.hidden};
    int64_t end = 0;
    for (int t = 0; t < kTensors; ++t) {
      end += args.experts * args.lora * widths[t] / 4;
      tensors_.end[t] = end;
      for (int r = 0; r < world_; ++r) {
        tensors_.in[t][r] = in[t]->at<const float4>(r);
        tensors_.sum[t][r] = sum[t]->at<float4>(r);
      }
    }
    for (int r = 0; r < world_; ++r) tensors_.flags[r] = flags_.at<uint32_t>(r);
    const int64_t part = (end + world_ - 1) / world_;
    blocks_ = static_cast<unsigned>(std::min<int64_t>((part + kThreads - 1) / kThreads, kMostBlocks));
  }

  void run(const Args&, cudaStream_t stream) {
    all_reduce<<<blocks_, kThreads, 0, stream>>>(tensors_, rank_, world_, number_ + 1);
    number_ += 2;
  }

 private:
  int rank_;
  int world_;
  fabricbench::PeerMemory flags_;
  fabricbench::PeerMemory gate_a_, gate_b_, down_a_, down_b_;
  fabricbench::PeerMemory gate_a_sum_, gate_b_sum_, down_a_sum_, down_b_sum_;
  Tensors tensors_ = {};
  unsigned blocks_ = 0;
  uint32_t number_ = 0;
};
// [/solution]
