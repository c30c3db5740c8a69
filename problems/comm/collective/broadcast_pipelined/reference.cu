#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::post;
using fabricbench::wait;

constexpr int kWarp = 32;
constexpr int kWorkers = 128;  // threads of a block that move data
// A chunk is what a block loads before it stores: small, because every rank of the chain adds the time of a chunk. Many
// blocks have one under way each, which fills the link.
constexpr int kDepth = 8, kChunk = kWorkers * kDepth;  // in quads of 16 bytes
constexpr int kBlocks = 24;                            // all resident at once: they wait for the rank before
// To signal a chunk takes longer than to move it: the signal must wait until all stores have arrived at the successor.
// So some warps do nothing but wait and signal. They take turns, and meanwhile the workers go on to the next chunk.
constexpr int kClerks = 4;
constexpr int kThreads = kWorkers + kWarp * kClerks;

// Barriers of one clerk's warp and all workers: `begin` of a chunk, and its `end`, which the workers do not wait for.
__device__ int begin_of(int clerk) { return 1 + 2 * clerk; }
__device__ int end_of(int clerk) { return 2 + 2 * clerk; }
__device__ void arrive_and_wait(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kWorkers + kWarp) : "memory");
}
__device__ void arrive(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kWorkers + kWarp) : "memory");
}

// What a rank knows of the chain. Flags hold the number of the last call of which they are true, and each has one
// writer.
struct Place {
  bool first, last;                  // the root; the one without successor
  uint32_t *ready, *ready_before;    // posted by a rank's successor: its output may be written
  uint32_t *arrived, *arrived_next;  // posted by its predecessor, for each chunk: it is in the output
  float *out, *out_next;
};

// A worker's share of a chunk.
__device__ void forward_chunk(const Place& place, const float* from, int64_t chunk, int64_t n) {
  const int64_t begin = chunk * kChunk;
  if (4 * (begin + kChunk) > n) {  // the last one
    for (int64_t i = 4 * begin + threadIdx.x; i < n; i += kWorkers) {
      const float value = __ldcg(from + i);
      place.out_next[i] = value;
      if (place.first) place.out[i] = value;
    }
    return;
  }
  // All loads before the first store, so that they are under way at the same time. Another GPU has just written `out`:
  // it is in L2, and in no L1.
  const auto* quads = reinterpret_cast<const float4*>(from) + begin + threadIdx.x;
  float4 value[kDepth];
#pragma unroll
  for (int k = 0; k < kDepth; ++k) value[k] = __ldcg(quads + k * kWorkers);
  const auto store = [&](float* to) {
#pragma unroll
    for (int k = 0; k < kDepth; ++k) (reinterpret_cast<float4*>(to) + begin + threadIdx.x)[k * kWorkers] = value[k];
  };
  store(place.out_next);
  if (place.first) store(place.out);
}

// Each block takes every so many'th chunk, in order, the same on all ranks. Blocks do not wait for each other.
__global__ void __launch_bounds__(kThreads)
    forward(Place place, const float* in, int64_t n, int64_t chunks, uint32_t call) {
  if (threadIdx.x >= kWorkers) {
    const int clerk = (threadIdx.x - kWorkers) / kWarp, lane = threadIdx.x % kWarp;
    // The stream has come to this call: what it did to `out` before comes before the stores of the rank before.
    if (!place.first && blockIdx.x == 0 && threadIdx.x == kWorkers) post(*place.ready_before, call);
    if (!place.last && lane == 0) wait(*place.ready, call);
    for (int64_t chunk = blockIdx.x + int64_t{gridDim.x} * clerk; chunk < chunks; chunk += gridDim.x * kClerks) {
      if (!place.first && lane == 0) wait(place.arrived[chunk], call);
      if (place.last) continue;
      __syncwarp();
      arrive_and_wait(begin_of(clerk));  // the acquires of one lane hold for all workers
      arrive_and_wait(end_of(clerk));    // orders the stores of all workers before the release of one lane
      if (lane == 0) post(place.arrived_next[chunk], call);
    }
    // No other rank reads this rank's memory and its own output is complete: nothing to wait for at the end.
  } else if (!place.last) {
    int clerk = 0;
    for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
      // Also says that the clerk has signalled its chunk before and will come to the `end` of this one.
      arrive_and_wait(begin_of(clerk));
      forward_chunk(place, place.first ? in : place.out, chunk, n);
      arrive(end_of(clerk));
      clerk = (clerk + 1) % kClerks;
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : chunks_((args.n + 4 * kChunk - 1) / (4 * kChunk)),
        flags_(rank, kArrived + static_cast<size_t>(chunks_) * sizeof(uint32_t)),
        outputs_(rank, args.out) {
    const int world = rank.world(), root = static_cast<int>(args.root % world);
    const int before = (rank.rank() + world - 1) % world, next = (rank.rank() + 1) % world;
    place_ = {.first = rank.rank() == root,
              .last = next == root,
              .ready = flags_.mine<uint32_t>(),
              .ready_before = flags_.at<uint32_t>(before),
              .arrived = flags_.mine<uint32_t>(kArrived),
              .arrived_next = flags_.at<uint32_t>(next, kArrived),
              .out = outputs_.mine<float>(),
              .out_next = outputs_.at<float>(next)};
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, chunks_));
    forward<<<blocks, kThreads, 0, stream>>>(place_, args.in, args.n, chunks_, ++call_);
  }

 private:
  static constexpr size_t kArrived = 128;  // offset; `ready` has a line of its own

  int64_t chunks_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory flags_, outputs_;
  Place place_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the broadcast
//|   }
//| };
// [/solution]
