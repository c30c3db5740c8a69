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

// The order of words is that of numbers: a larger logit is a larger key of 16 bits, and behind it stands the word's
// number, of which a smaller one is before a larger one. No two words have the same.
__device__ uint32_t key_of(uint32_t logit) { return (logit & 0x8000) != 0 ? ~logit & 0xFFFF : logit | 0x8000; }
__device__ float logit_of(uint32_t key) {
  return __uint_as_float(((key & 0x8000) != 0 ? key ^ 0x8000 : ~key & 0xFFFF) << 16);
}
__device__ uint32_t place_of(uint32_t logit, uint32_t word) { return key_of(logit) << 16 | (0xFFFF - word); }

// Calls f(place) for the 8 words of a quad.
template <class F>
__device__ void for_each(int4 quad, uint32_t first_word, F f) {
  const auto* pairs = reinterpret_cast<const uint32_t*>(&quad);
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) {
    f(place_of(pairs[i] & 0xFFFF, first_word + 2 * i));
    f(place_of(pairs[i] >> 16, first_word + 2 * i + 1));
  }
}

// A rank sends words of three items of 16 bits each for a row: its first keys, padded, and in the last word the
// target's key and the number of words before it.
__device__ int words_of(int k) { return (k + 2) / 3 + 1; }

// What the threads of a block have in common.
struct Shared {
  uint32_t of_group[kGroups], limit;
  uint32_t list[kMost + 2 + 3];  // what is sent, items in the upper halves; of this rank's words their places, in order
  int count, before;             // before the target: words of its own rank
  uint32_t target_key;
  uint32_t all[kThreads];  // keys of all ranks
  float of_warp[kWarps];
};

// Finds the places of the first k words of this rank's part of a row, in order, 0 behind them if there are fewer; and
// how many of this rank's words are before the target, if it is here.
//
// Threads are in groups. The k-th largest of the groups' largest places is a limit: k groups at most have places from
// there on, and the first k words are among these. So few threads look at their words again, whatever the logits are,
// and there is room for what they find.
__device__ void select(Shared& shared, uint32_t* found, const int4* row, int64_t quads, int k, int64_t target) {
  const auto thread = static_cast<int>(threadIdx.x);
  int4 quad[kQuads];
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    if (thread + i * kThreads < quads) quad[i] = __ldg(row + thread + i * kThreads);
  }
  const auto for_all = [&](auto f) {
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      const int q = thread + i * kThreads;
      if (q < quads) for_each(quad[i], static_cast<uint32_t>(8 * q), f);
    }
  };
  uint32_t largest = 0;
  for_all([&](uint32_t place) { largest = max(largest, place); });
  uint32_t group = largest;
  for (int step = kLanes / 2; step > 0; step /= 2) group = max(group, __shfl_xor_sync(~0u, group, step));
  if (thread % kLanes == 0) shared.of_group[thread / kLanes] = group;
  if (thread == 0) {
    shared.limit = 1;
    shared.count = 0;
    shared.before = 0;
    shared.target_key = 0;
  }
  if (thread < 3 * (words_of(k) - 1)) shared.list[thread] = 0;
  __syncthreads();

  if (thread < kGroups) {
    const uint32_t mine = shared.of_group[thread];
    int larger = 0;
#pragma unroll 8
    for (int g = 0; g < kGroups; ++g) larger += shared.of_group[g] > mine ? 1 : 0;
    if (larger == k - 1 && mine != 0) shared.limit = mine;
  }
  if (target >= 0 && target < 8 * quads) {
    const auto word = static_cast<uint32_t>(target);
    const uint32_t own = place_of(__bfloat16_as_ushort(reinterpret_cast<const __nv_bfloat16*>(row)[word]), word);
    int before = 0;
    if (largest > own) for_all([&](uint32_t place) { before += place > own ? 1 : 0; });
    if (before != 0) atomicAdd(&shared.before, before);
    if (thread == 0) shared.target_key = own >> 16;
  }
  __syncthreads();

  const uint32_t limit = shared.limit;
  if (thread == 0) {
    uint32_t* last = shared.list + 3 * (words_of(k) - 1);
    last[0] = shared.target_key << 16;
    last[1] = static_cast<uint32_t>(shared.before);
    last[2] = static_cast<uint32_t>(shared.before) << 16;
  }
  if (largest >= limit) {
    for_all([&](uint32_t place) {
      if (place >= limit) found[atomicAdd(&shared.count, 1)] = place;
    });
  }
  __syncthreads();
  const int count = shared.count;
  for (int i = thread; i < count; i += kThreads) {
    const uint32_t mine = found[i];
    int larger = 0;
    for (int j = 0; j < count; ++j) larger += found[j] > mine ? 1 : 0;
    if (larger < k) shared.list[larger] = mine;
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
// Keys are all that ranks have to know of each other's words:
// - The target is kept if fewer than k words are before it. Its own rank knows how many of its own are; of the others
//   those with a larger key are, and those with the same key on lower ranks. Lists end after k words, and so does this
//   count: from k on the answer is no.
// - The last key that is kept is the k-th largest of all. Words with this key are kept from the lowest rank on until
//   there are k, and those of a rank in the order of its list: so what a rank keeps is the beginning of its list.
//
// A block deals with one row after the other, those of the same number on all ranks at the same time. While its keys
// travel, it stores zeros.
__global__ void __launch_bounds__(kThreads)
    gradients(Peers<uint64_t> slots, const int4* logits, const int32_t* target, const float* grad,
              __nv_bfloat16* dlogits, int64_t tokens, int64_t quads, int k, int stride, int rank, int world,
              uint32_t call) {
  extern __shared__ uint32_t found[];
  __shared__ Shared shared;
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t vocab = 8 * quads, set = (call % 2) * tokens;
  const int words = words_of(k), which = thread % stride, peer = thread / stride;  // a sector is of one warp
  const int source = thread / k;                                                   // of this thread's key
  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    const int64_t target_word = __ldg(target + t) - rank * vocab;
    const int owner = static_cast<int>(__ldg(target + t) / vocab);
    select(shared, found, logits + t * quads, quads, k, target_word);
    if (peer < world && which < words) {
      const uint32_t* three = shared.list + 3 * which;
      const uint64_t word = uint64_t{three[0] >> 16} << 32 | (three[1] & 0xFFFF0000) | three[2] >> 16;
      Slot(slots.of[peer][((set + t) * world + rank) * stride + which])
          .store(uint64_t{call} << 48 | word, cuda::memory_order_relaxed);
    }
    __nv_bfloat16* row = dlogits + t * vocab;
    for (int64_t q = thread; q < quads; q += kThreads) reinterpret_cast<int4*>(row)[q] = make_int4(0, 0, 0, 0);
    __syncthreads();  // what was sent has been read; behind the zeros come other numbers

    if (peer < world && which < words) {
      const uint64_t data = receive(slots.of[rank][((set + t) * world + peer) * stride + which], call);
      if (which < words - 1) {
        for (int i = 0; i < 3; ++i) {
          if (3 * which + i < k) shared.all[peer * k + 3 * which + i] = data >> (32 - 16 * i) & 0xFFFF;
        }
      } else if (peer == owner) {
        shared.target_key = data >> 32 & 0xFFFF;
        shared.before = static_cast<int>(static_cast<uint32_t>(data));
      }
    }
    __syncthreads();
    // A thread for each key. The k-th largest of them, bit by bit: the largest number that k keys reach.
    const uint32_t key = source < world ? shared.all[thread] : 0, target_key = shared.target_key;
    uint32_t last = 0;
    for (uint32_t bit = 0x8000; bit != 0; bit /= 2) {
      if (__syncthreads_count(key >= (last | bit)) >= k) last |= bit;
    }
    const int before = __syncthreads_count(source != owner && (source < owner ? key >= target_key : key > target_key));
    if (shared.before + before < k) {
      const int above = __syncthreads_count(key > last);
      const int lower = __syncthreads_count(key == last && source < rank);
      const int own_above = __syncthreads_count(key > last && source == rank);
      const int own_last = __syncthreads_count(key == last && source == rank);
      const int kept = own_above + max(0, min(k - above - lower, own_last));
      // Relative to the last logit that is kept: k - above words have that one.
      const float least = logit_of(last);
      float sum = key > last ? __expf(logit_of(key) - least) : 0;
      for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      if (thread % kWarp == 0) shared.of_warp[thread / kWarp] = sum;
      __syncthreads();
      if (thread < kept) {
        sum = static_cast<float>(k - above);
        for (int w = 0; w < kWarps; ++w) sum += shared.of_warp[w];
        const int64_t word = 0xFFFF - (shared.list[thread] & 0xFFFF);
        const float p = __expf(logit_of(shared.list[thread] >> 16) - least) / sum;
        row[word] = __float2bfloat16(__ldg(grad + t) * ((word == target_word ? 1.0F : 0.0F) - p));
      }
    }
    __syncthreads();  // everything shared has been read
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
    shared_ = static_cast<int>(args.k * kLanes * of_thread * int64_t{sizeof(uint32_t)});  // of k groups
    fabricbench::check_cuda(cudaFuncSetAttribute(gradients, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_));
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, args.tokens));
    gradients<<<blocks, kThreads, static_cast<size_t>(shared_), stream>>>(
        slots_.peers<uint64_t>(), reinterpret_cast<const int4*>(args.logits), args.target, args.grad, args.dlogits,
        args.tokens, args.vocab / 8, static_cast<int>(args.k), stride_, rank_, world_, ++call_);
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
//|     // TODO: enqueue the selection and the gradient
//|   }
//| };
// [/solution]
