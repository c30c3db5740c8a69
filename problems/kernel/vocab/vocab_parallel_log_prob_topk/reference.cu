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

constexpr int kWarp = 32, kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kBlocks = 64;                             // all resident at once: they wait for their peers
constexpr int kLanes = 4, kGroups = kThreads / kLanes;  // threads in groups of 4
constexpr int kQuads = 8;  // int4, of 8 logits each, that a thread keeps: vocab is 32,768 at most
constexpr int kMost = 64;  // of k

// What ranks send are words of 8 bytes: 16 bits of the call's number, which say that the rest is there, and 48 bits of
// data. Each is one value: nothing has to be ordered, and relaxed accesses are enough; at system scope, as readers are
// on other GPUs.
using Slot = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

// Logits as whole numbers of 16 bits in the same order.
__device__ uint32_t key_of(uint32_t logit) { return (logit & 0x8000) != 0 ? ~logit & 0xFFFF : logit | 0x8000; }
__device__ float logit_of(uint32_t key) {
  return __uint_as_float(((key & 0x8000) != 0 ? key ^ 0x8000 : ~key & 0xFFFF) << 16);
}

// A rank sends words of three items of 16 bits each for a row: its first logits, padded, and in the last word the
// target's logit and the number of words before it.
__device__ int words_of(int k) { return (k + 2) / 3 + 1; }

// What the threads of a block have in common.
struct Shared {
  float of_group[kGroups], limit;
  uint32_t list[kMost + 2 + 3];  // what is sent, items of 16 bits
  int count;
  uint32_t target_logit;
  int before;              // the target: words of its own rank
  uint32_t all[kThreads];  // keys of all ranks
  float of_warp[kWarps];
};

__device__ float largest_of(int4 quad) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&quad);
  const float2 most = __bfloat1622float2(__hmax2(__hmax2(pairs[0], pairs[1]), __hmax2(pairs[2], pairs[3])));
  return fmaxf(most.x, most.y);
}

// Calls f(logit, i) for the 8 logits of a quad.
template <class F>
__device__ void for_each(int4 quad, F f) {
  const auto* pairs = reinterpret_cast<const uint32_t*>(&quad);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    f(__uint_as_float(pairs[i] << 16), 2 * i);
    f(__uint_as_float(pairs[i] & 0xFFFF0000), 2 * i + 1);
  }
}

// 1 if x comes before y: the larger one, or the first of equal ones. Without a branch.
__device__ int is_before(float x, int index_x, float y, int index_y) {
  return static_cast<int>(x > y) | (static_cast<int>(x == y) & static_cast<int>(index_x < index_y));
}

// Finds the k largest logits of this rank's part of a row, in any order, filled up with minus infinity; and how many of
// this rank's words are before the target, if it is here.
//
// Threads are in groups. The k-th largest of the groups' largest logits is a limit: at least k words reach it, and
// those that exceed it are in fewer than k groups. So few threads look at their words again, whatever the logits are,
// and there is room for what they find.
__device__ void select(Shared& shared, float* found, const int4* row, int64_t quads, int k, int64_t target) {
  constexpr int kNothing = static_cast<int>(0xFF80FF80);  // two times minus infinity
  const auto thread = static_cast<int>(threadIdx.x);
  int4 quad[kQuads];
  float largest = -INFINITY;
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    const int q = thread + i * kThreads;
    quad[i] = q < quads ? __ldg(row + q) : make_int4(kNothing, kNothing, kNothing, kNothing);
  }
#pragma unroll
  for (int i = 0; i < kQuads; ++i) largest = fmaxf(largest, largest_of(quad[i]));
  float group = largest;
  for (int step = kLanes / 2; step > 0; step /= 2) group = fmaxf(group, __shfl_xor_sync(~0u, group, step));
  if (thread % kLanes == 0) shared.of_group[thread / kLanes] = group;
  if (thread == 0) {
    shared.count = 0;
    shared.before = 0;
    shared.target_logit = 0;
  }
  __syncthreads();

  if (thread < kGroups) {
    const float mine = shared.of_group[thread];
    int before = 0;
#pragma unroll 8
    for (int g = 0; g < kGroups; ++g) {
      const float other = shared.of_group[g];
      before += is_before(other, g, mine, thread);
    }
    if (before == k - 1) shared.limit = mine;
  }
  if (target >= 0 && target < 8 * quads) {
    const auto word = static_cast<int>(target);
    const uint32_t bits = __bfloat16_as_ushort(reinterpret_cast<const __nv_bfloat16*>(row)[word]);
    const float logit = __uint_as_float(bits << 16);
    int before = 0;
    if (largest >= logit) {
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        const int first = 8 * (thread + i * kThreads);
        if (thread + i * kThreads < quads)
          for_each(quad[i], [&](float x, int j) { before += is_before(x, first + j, logit, word); });
      }
    }
    if (before != 0) atomicAdd(&shared.before, before);
    if (thread == 0) shared.target_logit = bits;
  }
  __syncthreads();

  const float limit = shared.limit;
  const int end = 3 * (words_of(k) - 1);
  if (thread < end) shared.list[thread] = __float_as_uint(thread < k ? limit : -INFINITY) >> 16;
  if (thread == 0) {
    shared.list[end] = shared.target_logit;
    shared.list[end + 1] = static_cast<uint32_t>(shared.before) >> 16;
    shared.list[end + 2] = static_cast<uint32_t>(shared.before) & 0xFFFF;
  }
  if (largest > limit) {
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      if (thread + i * kThreads >= quads) continue;
      for_each(quad[i], [&](float x, int) {
        if (x > limit) found[atomicAdd(&shared.count, 1)] = x;
      });
    }
  }
  __syncthreads();
  const int count = shared.count;
  for (int i = thread; i < count; i += kThreads) {
    const float mine = found[i];
    int before = 0;
    for (int j = 0; j < count; ++j) before += is_before(found[j], j, mine, i);
    if (before < k) shared.list[before] = __float_as_uint(mine) >> 16;
  }
  __syncthreads();
}

__device__ uint64_t receive(uint64_t& slot, uint32_t call) {
  uint64_t word;
  do {
    word = Slot(slot).load(cuda::memory_order_relaxed);
  } while (word >> 48 != (call & 0xFFFF));
  return word;
}

// Slots [call % 2][row][sender][stride] on each rank. In call e a rank writes slots that hold words of call e - 2. The
// owner has read those: before the writer's call e - 1 ended, it had received the owner's words of call e - 1, which
// the owner sent in a kernel that its stream started after that of call e - 2. So two sets are enough, and no barrier
// is needed. A slot's last word is always that of call e - 2, so that 16 bits of e tell them apart.
//
// Logits are all that ranks have to know of each other's words. Which of several equal ones are kept does not matter
// for the sum. Whether the target is kept is a matter of how many words are before it: its own rank knows how many of
// its own are, and of the others those with a larger logit are, and those with the same one on lower ranks. Lists end
// after k words, and so does this count: from k on the answer is no.
//
// A block sends what it knows of all its rows before it waits for the first of them.
__global__ void __launch_bounds__(kThreads)
    log_prob_of_targets(Peers<uint64_t> slots, const int4* logits, const int32_t* target, float* log_prob,
                        int64_t tokens, int64_t quads, int k, int stride, int rank, int world, uint32_t call) {
  extern __shared__ float found[];
  __shared__ Shared shared;
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t vocab = 8 * quads, set = (call % 2) * tokens;
  const int words = words_of(k), which = thread % stride, peer = thread / stride;  // a sector is of one warp
  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    select(shared, found, logits + t * quads, quads, k, __ldg(target + t) - rank * vocab);
    if (peer < world && which < words) {
      const uint32_t* three = shared.list + 3 * which;
      const uint64_t word = uint64_t{three[0]} << 32 | three[1] << 16 | three[2];
      Slot(slots.of[peer][((set + t) * world + rank) * stride + which])
          .store(uint64_t{call} << 48 | word, cuda::memory_order_relaxed);
    }
    __syncthreads();  // the list has been read
  }

  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    const int64_t word = __ldg(target + t);
    const auto owner = static_cast<int>(word / vocab);
    if (peer < world && which < words) {
      const uint64_t data = receive(slots.of[rank][((set + t) * world + peer) * stride + which], call);
      if (which < words - 1) {
        for (int i = 0; i < 3; ++i) {
          if (3 * which + i < k) shared.all[peer * k + 3 * which + i] = key_of(data >> (32 - 16 * i) & 0xFFFF);
        }
      } else if (peer == owner) {
        shared.target_logit = data >> 32 & 0xFFFF;
        shared.before = static_cast<int>(static_cast<uint32_t>(data));
      }
    }
    __syncthreads();
    // A thread for each key. The k-th largest of them, bit by bit: the largest number that k keys reach.
    const int source = thread / k;
    const uint32_t key = source < world ? shared.all[thread] : 0, target_key = key_of(shared.target_logit);
    uint32_t last = 0;
    for (uint32_t bit = 0x8000; bit != 0; bit /= 2) {
      if (__syncthreads_count(key >= (last | bit)) >= k) last |= bit;
    }
    const int above = __syncthreads_count(key > last);
    const int before = __syncthreads_count(source != owner && (source < owner ? key >= target_key : key > target_key));
    // Relative to the last logit that is kept: k - above words have that one.
    const float least = logit_of(last);
    float sum = key > last ? __expf(logit_of(key) - least) : 0;
    for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (thread % kWarp == 0) shared.of_warp[thread / kWarp] = sum;
    const bool kept = shared.before + before < k;
    __syncthreads();  // the keys have been read, too
    if (thread >= kWarp) continue;
    sum = thread < kWarps ? shared.of_warp[thread] : 0;
    for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    sum += static_cast<float>(k - above);
    if (thread == 0) log_prob[t] = kept ? logit_of(target_key) - least - __logf(sum) : -1e30F;
  }
}
static_assert(kThreads >= kMost * 8, "a thread for each key of 8 ranks");

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        stride_(static_cast<int>((args.k + 2) / 3 + 1 + 3) / 4 * 4),  // whole sectors of 32 bytes
        slots_(rank, 2 * static_cast<size_t>(args.tokens * rank.world() * stride_) * sizeof(uint64_t)) {
    const int64_t of_thread = (args.vocab / 8 + kThreads - 1) / kThreads * 8;
    shared_ = static_cast<int>(args.k * kLanes * of_thread * int64_t{sizeof(float)});  // of k groups
    fabricbench::check_cuda(
        cudaFuncSetAttribute(log_prob_of_targets, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_));
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, args.tokens));
    log_prob_of_targets<<<blocks, kThreads, static_cast<size_t>(shared_), stream>>>(
        slots_.peers<uint64_t>(), reinterpret_cast<const int4*>(args.logits), args.target, args.log_prob, args.tokens,
        args.vocab / 8, static_cast<int>(args.k), stride_, rank_, world_, ++call_);
  }

 private:
  int rank_, world_, stride_, shared_ = 0;
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
//|     // TODO: enqueue the selection and the log-probabilities
//|   }
//| };
// [/solution]
