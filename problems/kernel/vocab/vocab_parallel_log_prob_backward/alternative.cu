// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kWarp = 32, kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kLanes = 4, kGroups = kThreads / kLanes;  // threads in groups of 4
constexpr int kQuads = 8;                               // int4, of 8 logits each, that a thread keeps: vocab <= 32,768

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

// The places of the first k words of this rank's part of a row, in order; 0 behind them if there are fewer. A block for
// each row. The k-th largest of the groups' largest places is a limit: k groups at most have places from there on, and
// the first k words are among these.
__global__ void __launch_bounds__(kThreads) select_local(const int4* logits, uint32_t* places, int64_t quads, int k) {
  extern __shared__ uint32_t found[];
  __shared__ uint32_t of_group[kGroups], limit;
  __shared__ int count;
  const auto thread = static_cast<int>(threadIdx.x);
  const int4* row = logits + blockIdx.x * quads;
  int4 quad[kQuads];
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    if (thread + i * kThreads < quads) quad[i] = row[thread + i * kThreads];
  }
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    const int q = thread + i * kThreads;
    if (q < quads) for_each(quad[i], 8 * q, [&](uint32_t place) { largest = max(largest, place); });
  }
  uint32_t group = largest;
  for (int step = kLanes / 2; step > 0; step /= 2) group = max(group, __shfl_xor_sync(~0u, group, step));
  if (thread % kLanes == 0) of_group[thread / kLanes] = group;
  if (thread == 0) {
    limit = 1;
    count = 0;
  }
  __syncthreads();
  if (thread < kGroups) {
    const uint32_t mine = of_group[thread];
    int larger = 0;
    for (int g = 0; g < kGroups; ++g) larger += of_group[g] > mine ? 1 : 0;
    if (larger == k - 1 && mine != 0) limit = mine;
  }
  __syncthreads();
  if (largest >= limit) {
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      const int q = thread + i * kThreads;
      if (q >= quads) continue;
      for_each(quad[i], 8 * q, [&](uint32_t place) {
        if (place >= limit) found[atomicAdd(&count, 1)] = place;
      });
    }
  }
  __syncthreads();
  for (int i = thread; i < count; i += kThreads) {
    int larger = 0;
    for (int j = 0; j < count; ++j) larger += found[j] > found[i] ? 1 : 0;
    if (larger < k) places[blockIdx.x * k + larger] = found[i];
  }
  if (thread >= count && thread < k) places[blockIdx.x * k + thread] = 0;
}

template <class T>
__device__ T sum_of_block(T value) {
  __shared__ T of_warp[kWarps];
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = of_warp[threadIdx.x % kWarps];
  for (int step = kWarps / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// The largest number that at least k of the block's numbers reach.
__device__ uint32_t kth_largest(uint32_t value, int k) {
  uint32_t result = 0;
  for (uint32_t bit = 0x80000000; bit != 0; bit /= 2) {
    if (__syncthreads_count(value >= (result | bit)) >= k) result |= bit;
  }
  return result;
}

// A block for each row, a thread for each word in the lists of all ranks, which it reads where they are. Behind the key
// now stands the number over the whole vocabulary, of 18 bits: the first 14 of these, with the key, and the rest decide
// in two steps.
__global__ void __launch_bounds__(kThreads)
    select_all(Peers<uint32_t> places, const int32_t* target, const float* grad, __nv_bfloat16* dlogits, int64_t vocab,
               int k, int self, int world) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t t = blockIdx.x;
  const int rank = thread / k;
  const uint32_t place = rank < world ? places.of[rank][t * k + thread % k] : 0;
  const auto word = static_cast<uint32_t>(rank * vocab) + 0xFFFF - (place & 0xFFFF);
  const uint32_t upper = place != 0 ? (place & 0xFFFF0000) | (0x3FFFF - word) >> 4 : 0, lower = (0x3FFFF - word) & 15;
  const uint32_t last = kth_largest(upper, k);
  const int missing = k - __syncthreads_count(upper > last);
  const uint32_t last_lower = kth_largest(upper == last ? lower + 1 : 0, missing);
  const bool kept = upper > last || (upper == last && lower + 1 >= last_lower);
  const float x = logit_of(place >> 16), least = logit_of(last >> 16);
  const float sum = sum_of_block(kept ? expf(x - least) : 0.0F);
  const bool is_target = kept && word == static_cast<uint32_t>(target[t]);
  if (__syncthreads_or(is_target) == 0 || !kept || rank != self) return;
  const float p = expf(x - (least + logf(sum)));
  dlogits[t * vocab + (0xFFFF - (place & 0xFFFF))] = __float2bfloat16(grad[t] * (is_target ? 1 - p : -p));
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        places_(rank, static_cast<size_t>(args.tokens * args.k) * sizeof(uint32_t)) {
    const int64_t of_thread = (args.vocab / 8 + kThreads - 1) / kThreads * 8;
    shared_ = static_cast<int>(args.k * kLanes * of_thread * int64_t{sizeof(uint32_t)});
    fabricbench::check_cuda(cudaFuncSetAttribute(select_local, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_));
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.tokens);
    const int k = static_cast<int>(args.k);
    const auto words = words_.peers<uint32_t>();
    const auto places = places_.peers<uint32_t>();
    fabricbench::check_cuda(cudaMemsetAsync(
        args.dlogits, 0, static_cast<size_t>(args.tokens * args.vocab) * sizeof(__nv_bfloat16), stream));
    select_local<<<rows, kThreads, static_cast<size_t>(shared_), stream>>>(reinterpret_cast<const int4*>(args.logits),
                                                                           places.of[rank_], args.vocab / 8, k);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all lists are there
    select_all<<<rows, kThreads, 0, stream>>>(places, args.target, args.grad, args.dlogits, args.vocab, k, rank_,
                                              world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_, shared_ = 0;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, places_;
};
// [/solution]
