#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kWarp = 32, kThreads = 512;
constexpr int kBlocks = 32;  // all resident at once: they wait for the rank before
// A chunk is what one warp loads before it stores: small, because every rank of the chain adds the time of a chunk.
// There are many warps, so enough chunks are under way to fill the link.
constexpr int kDepth = 4, kChunk = kWarp * kDepth;  // in quads of 16 bytes

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

__device__ void post(uint32_t& flag, uint32_t call) { Flag(flag).store(call, cuda::memory_order_release); }
__device__ void wait(uint32_t& flag, uint32_t call) {
  while (Flag(flag).load(cuda::memory_order_acquire) < call) {
  }
}

// What a rank knows of the chain. Flags hold the number of the last call of which they are true, and each has one
// writer.
struct Place {
  bool first, last;                  // the root; the one without successor
  uint32_t *ready, *ready_before;    // posted by a rank's successor: its output may be written
  uint32_t *arrived, *arrived_next;  // posted by its predecessor, for each chunk: it is in the output
  float *out, *out_next;
};

// Each warp takes every so many'th chunk, in order, the same on all ranks. Warps do not wait for each other.
__global__ void __launch_bounds__(kThreads) forward(Place place, const float* in, int64_t n, uint32_t call) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warp = (blockIdx.x * int64_t{kThreads} + threadIdx.x) / kWarp,
                warps = gridDim.x * int64_t{kThreads / kWarp};

  // The stream has come to this call: what it did to `out` before comes before the stores of the rank before.
  if (!place.first && blockIdx.x == 0 && threadIdx.x == 0) post(*place.ready_before, call);
  if (!place.last) {
    if (lane == 0) wait(*place.ready, call);
    __syncwarp();
  }

  const int64_t quads = n / 4;
  const float* from = place.first ? in : place.out;
  for (int64_t chunk = warp; chunk * kChunk * 4 < n; chunk += warps) {
    if (!place.first) {
      if (lane == 0) wait(place.arrived[chunk], call);
      __syncwarp();  // the acquire of one lane holds for all
      if (place.last) continue;
    }
    // Another GPU has just written `out`: it is in L2, and in no L1.
    float4 value[kDepth];
    for (int k = 0; k < kDepth; ++k) {
      const int64_t q = chunk * kChunk + k * kWarp + lane;
      if (q < quads) value[k] = __ldcg(reinterpret_cast<const float4*>(from) + q);
    }
    for (int k = 0; k < kDepth; ++k) {
      const int64_t q = chunk * kChunk + k * kWarp + lane;
      if (q >= quads) continue;
      if (place.first) reinterpret_cast<float4*>(place.out)[q] = value[k];
      reinterpret_cast<float4*>(place.out_next)[q] = value[k];
    }
    // The last chunk has the rest of n / 4, too.
    if (const int64_t i = 4 * quads + lane; i < n && (chunk + 1) * kChunk > quads) {
      const float rest = from[i];
      if (place.first) place.out[i] = rest;
      place.out_next[i] = rest;
    }
    __syncwarp();  // orders the stores of all lanes before the release of one
    if (lane == 0) post(place.arrived_next[chunk], call);
  }
  // No other rank reads this rank's memory and its own output is complete: nothing to wait for at the end.
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : flags_(rank, kArrived + static_cast<size_t>(chunks(args.n)) * sizeof(uint32_t)), outputs_(rank, args.out) {
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
    constexpr int kWarps = kThreads / kWarp;
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (chunks(args.n) + kWarps - 1) / kWarps));
    forward<<<blocks, kThreads, 0, stream>>>(place_, args.in, args.n, ++call_);
  }

 private:
  static constexpr size_t kArrived = 128;  // offset; `ready` has a line of its own
  static int64_t chunks(int64_t n) { return (n + 4 * kChunk - 1) / (4 * kChunk); }

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
