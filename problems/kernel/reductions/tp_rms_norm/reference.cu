#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps;
constexpr int kBlocks = 128;  // all resident at once: warps wait for their peers
constexpr int kRows = 2;      // of a warp at a time
constexpr int kKept = 4;      // quads (8 numbers) of a row that a lane keeps in registers

// A sum on its way: the call's number in the upper half says that the lower one is there. Both are one value, so that
// nothing has to be ordered, and relaxed accesses are enough; at system scope, as the reader is on another GPU.
using Slot = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

__device__ void send(uint64_t& slot, float sum, uint32_t call) {
  Slot(slot).store(uint64_t{call} << 32 | __float_as_uint(sum), cuda::memory_order_relaxed);
}
__device__ float receive(uint64_t& slot, uint32_t call) {
  uint64_t bits;
  do {
    bits = Slot(slot).load(cuda::memory_order_relaxed);
  } while (bits >> 32 != call);
  return __uint_as_float(static_cast<uint32_t>(bits));
}

__device__ float squares_of(int4 bits) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    sum += v.x * v.x + v.y * v.y;
  }
  return sum;
}

__device__ int4 scaled(int4 bits, int4 factors, float scale) {
  const auto *from = reinterpret_cast<const __nv_bfloat162*>(&bits),
             *by = reinterpret_cast<const __nv_bfloat162*>(&factors);
  int4 result;
  auto* to = reinterpret_cast<__nv_bfloat162*>(&result);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(from[k]), w = __bfloat1622float2(by[k]);
    to[k] = __floats2bfloat162_rn(v.x * scale * w.x, v.y * scale * w.y);
  }
  return result;
}

// A row as its warp sees it: what fits into registers is read from memory once.
struct Row {
  const int4* x;
  int4 kept[kKept];

  __device__ float load(int64_t quads, int lane) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      if (lane + k * kWarp < quads) kept[k] = __ldg(x + lane + k * kWarp);
    }
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      if (lane + k * kWarp < quads) sum += squares_of(kept[k]);
    }
    for (int64_t q = lane + kKept * kWarp; q < quads; q += kWarp) sum += squares_of(__ldg(x + q));
    return sum;
  }
  __device__ void store(int4* y, const int4* weight, int64_t quads, int lane, float scale) const {
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const int q = lane + k * kWarp;
      if (q < quads) y[q] = scaled(kept[k], __ldg(weight + q), scale);
    }
    for (int64_t q = lane + kKept * kWarp; q < quads; q += kWarp) y[q] = scaled(__ldg(x + q), __ldg(weight + q), scale);
  }
};

// Slots [call % 2][row][sender] on each rank. In call e a rank writes slots that hold sums of call e - 2. The owner has
// read those: before the writer's call e - 1 ended, it had received the owner's sums of call e - 1, which the owner
// sent in a kernel that its stream started after that of call e - 2. So two sets are enough, and no barrier is needed.
//
// A warp takes rows, and lane i deals with rank i: it sends the sum there and waits for that rank's. Everything of a
// round is sent before anything is waited for.
__global__ void __launch_bounds__(kThreads)
    rms_norm(Peers<uint64_t> slots, const int4* x, const int4* weight, int4* y, int64_t tokens, int64_t quads,
             float columns, int rank, int world, uint32_t call) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp, warps = int64_t{gridDim.x} * kWarps;
  const int64_t set = (call % 2) * tokens;

  for (int64_t first = warp; first < tokens; first += kRows * warps) {
    Row rows[kRows];
    float own[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t token = first + r * warps;
      if (token >= tokens) continue;
      rows[r].x = x + token * quads;
      float sum = rows[r].load(quads, lane);
      for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      own[r] = sum;
      if (lane < world && lane != rank) send(slots.of[lane][(set + token) * world + rank], sum, call);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t token = first + r * warps;
      if (token >= tokens) continue;
      float sum = 0;
      if (lane < world) sum = lane == rank ? own[r] : receive(slots.of[rank][(set + token) * world + lane], call);
      for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      rows[r].store(y + token * quads, weight, quads, lane, rsqrtf(sum / columns + 1e-5F));
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        slots_(rank, 2 * static_cast<size_t>(args.tokens * rank.world()) * sizeof(uint64_t)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.tokens + kWarps - 1) / kWarps));
    rms_norm<<<blocks, kThreads, 0, stream>>>(slots_.peers<uint64_t>(), reinterpret_cast<const int4*>(args.x),
                                              reinterpret_cast<const int4*>(args.weight),
                                              reinterpret_cast<int4*>(args.y), args.tokens, args.hidden / 8,
                                              static_cast<float>(args.hidden * world_), rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory slots_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the norm
//|   }
//| };
// [/solution]
