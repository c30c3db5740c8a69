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

constexpr int kWarp = 32, kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kBlocks = 264;  // two on each multiprocessor, all resident at once: they wait for their peers
constexpr int kQuads = 4;     // int4, of 8 logits each, that a thread has under way

// All that a rank knows of a row is one word: the logarithm of its sum of exponentials (32 bits), which needs no
// maximum beside it; the target's logit where the rank has it (16 bits); and 16 bits of the call's number, which say
// that the others are there. One value: nothing has to be ordered, and relaxed accesses are enough; at system scope, as
// readers are on other GPUs.
using Slot = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

__device__ uint64_t word_of(uint32_t call, uint16_t logit, float log_sum) {
  return uint64_t{call} << 48 | uint64_t{logit} << 32 | __float_as_uint(log_sum);
}

__device__ float largest_of(int4 bits) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  const float2 most = __bfloat1622float2(__hmax2(__hmax2(pairs[0], pairs[1]), __hmax2(pairs[2], pairs[3])));
  return fmaxf(most.x, most.y);
}

__device__ float exponentials_of(int4 bits, float most) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 x = __bfloat1622float2(pairs[k]);
    sum += __expf(x.x - most) + __expf(x.y - most);
  }
  return sum;
}

// Over all threads of the block, for each of them.
template <class Operation>
__device__ float over_block(float value, Operation op) {
  __shared__ float of_warp[kWarps];
  for (int step = kWarp / 2; step > 0; step /= 2) value = op(value, __shfl_xor_sync(~0u, value, step));
  __syncthreads();  // what an earlier call of this function has left there has been read
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = of_warp[threadIdx.x % kWarps];
  for (int step = kWarps / 2; step > 0; step /= 2) value = op(value, __shfl_xor_sync(~0u, value, step));
  return value;
}

// The logarithm of the sum of exponentials of this rank's part of a row, in one pass.
__device__ float log_sum_of(const int4* row, int64_t quads) {
  constexpr int kNothing = static_cast<int>(0xFF80FF80);  // two times minus infinity
  float most = -1e30F, sum = 0;
  for (int64_t first = threadIdx.x; first < quads; first += kQuads * kThreads) {
    int4 x[kQuads];
#pragma unroll
    for (int k = 0; k < kQuads; ++k) {
      const int64_t q = first + k * kThreads;
      x[k] = q < quads ? __ldg(row + q) : make_int4(kNothing, kNothing, kNothing, kNothing);
    }
    float larger = most;
#pragma unroll
    for (int k = 0; k < kQuads; ++k) larger = fmaxf(larger, largest_of(x[k]));
    sum *= __expf(most - larger);
    most = larger;
#pragma unroll
    for (int k = 0; k < kQuads; ++k) sum += exponentials_of(x[k], most);
  }
  const float of_all = over_block(most, [](float a, float b) { return fmaxf(a, b); });
  sum = over_block(sum * __expf(most - of_all), [](float a, float b) { return a + b; });
  return of_all + __logf(sum);
}

// Slots [call % 2][row][sender] on each rank. In call e a rank writes slots that hold words of call e - 2. The owner
// has read those: before the writer's call e - 1 ended, it had received the owner's words of call e - 1, which the
// owner sent in a kernel that its stream started after that of call e - 2. So two sets are enough, and no barrier is
// needed. A slot's last word is always that of call e - 2, so that 16 bits of e tell them apart.
//
// A block sends what it knows of all its rows before it waits for the first of them.
__global__ void __launch_bounds__(kThreads, 2)
    cross_entropy(Peers<uint64_t> slots, const __nv_bfloat16* logits, const int32_t* target, float* loss,
                  int64_t tokens, int64_t vocab, int rank, int world, uint32_t call) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t set = (call % 2) * tokens;
  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    const __nv_bfloat16* row = logits + t * vocab;
    const float log_sum = log_sum_of(reinterpret_cast<const int4*>(row), vocab / 8);
    if (thread < world) {
      const int64_t word = __ldg(target + t) - rank * vocab;  // among this rank's, if it is there
      const uint16_t logit = word >= 0 && word < vocab ? __bfloat16_as_ushort(row[word]) : 0;
      Slot(slots.of[thread][(set + t) * world + rank]).store(word_of(call, logit, log_sum), cuda::memory_order_relaxed);
    }
  }

  // One warp receives; lane i deals with rank i, and lanes without a rank have nothing to add.
  if (thread >= kWarp) return;
  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    float log_sum = -1e30F, logit = 0;
    if (thread < world) {
      Slot slot(slots.of[rank][(set + t) * world + thread]);
      uint64_t word;
      do {
        word = slot.load(cuda::memory_order_relaxed);
      } while (word >> 48 != (call & 0xFFFF));
      log_sum = __uint_as_float(static_cast<uint32_t>(word));
      logit = __bfloat162float(__ushort_as_bfloat16(static_cast<uint16_t>(word >> 32)));  // 0 on all ranks but one
    }
    float most = log_sum;
    for (int step = kWarp / 2; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    float sum = __expf(log_sum - most);
    for (int step = kWarp / 2; step > 0; step /= 2) {
      sum += __shfl_xor_sync(~0u, sum, step);
      logit += __shfl_xor_sync(~0u, logit, step);
    }
    if (thread == 0) loss[t] = most - logit + __logf(sum);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        slots_(rank, 2 * static_cast<size_t>(args.tokens * rank.world()) * sizeof(uint64_t)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, args.tokens));
    cross_entropy<<<blocks, kThreads, 0, stream>>>(slots_.peers<uint64_t>(), args.logits, args.target, args.loss,
                                                   args.tokens, args.vocab, rank_, world_, ++call_);
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
//|     // TODO: enqueue the loss
//|   }
//| };
// [/solution]
