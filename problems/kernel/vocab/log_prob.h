#pragma once

// Keys, sums and selections of a row of logits, of solutions of log_prob_topk and log_prob_backward.

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
