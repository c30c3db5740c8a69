#pragma once

// Routing and gathering of the baselines that multiply by groups of experts.

constexpr int kWarp = 32, kThreads = 128;
constexpr int kMostExperts = 64;

// A warp for each token: k times the largest of the logits that are left, then the softmax of those.
__global__ void route(const float* logits, int32_t* ids, float* weights, int32_t* counts, int tokens, int experts,
                      int k) {
  constexpr int kEach = kMostExperts / kWarp;
  const auto lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto token = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / kWarp);
  if (token >= tokens) return;
  float left[kEach];
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    const int e = n * kWarp + lane;
    left[n] = e < experts ? logits[token * experts + e] : -INFINITY;
  }
  float most = 0, sum = 0, mine = 0;
  for (int j = 0; j < k; ++j) {
    float best = left[0];
    int expert = lane;
#pragma unroll
    for (int n = 1; n < kEach; ++n) {
      if (left[n] > best) {
        best = left[n];
        expert = n * kWarp + lane;
      }
    }
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(~0u, best, step);
      const int its = __shfl_xor_sync(~0u, expert, step);
      if (other > best || (other == best && its < expert)) {
        best = other;
        expert = its;
      }
    }
#pragma unroll
    for (int n = 0; n < kEach; ++n) {
      if (expert == n * kWarp + lane) left[n] = -INFINITY;
    }
    if (j == 0) most = best;
    const float weight = __expf(best - most);
    sum += weight;
    if (lane == j) {
      mine = weight;
      ids[token * k + j] = expert;
      atomicAdd(&counts[expert], 1);
    }
  }
  if (lane < k) weights[token * k + lane] = mine / sum;
}

// A block for each choice: its place is behind those of smaller experts, and of earlier choices of the same one.
__global__ void sort(const uint4* x, const int32_t* ids, uint4* sorted, int32_t* places, int64_t vectors, int k) {
  const int choices = static_cast<int>(gridDim.x), choice = static_cast<int>(blockIdx.x), expert = ids[choice];
  int place = 0;
  for (int first = 0; first < choices; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x), id = i < choices ? ids[i] : kMostExperts;
    place += __syncthreads_count(id < expert || (id == expert && i < choice));
  }
  for (int64_t v = threadIdx.x; v < vectors; v += kThreads) sorted[place * vectors + v] = x[choice / k * vectors + v];
  if (threadIdx.x == 0) places[choice] = place;
}

__global__ void gate(const float* u, const float* v, __nv_bfloat16* h, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) h[i] = __float2bfloat16(u[i] / (1 + __expf(-u[i])) * v[i]);
}

__global__ void add_up(const __nv_bfloat162* rows, const int32_t* places, const float* weights, __nv_bfloat162* out,
                       int64_t pairs, int k) {
  const int64_t token = blockIdx.x;
  for (int64_t p = threadIdx.x; p < pairs; p += blockDim.x) {
    float2 sum = {};
    for (int64_t i = token * k; i < (token + 1) * k; ++i) {
      const float2 y = __bfloat1622float2(rows[places[i] * pairs + p]);
      sum.x += weights[i] * y.x;
      sum.y += weights[i] * y.y;
    }
    out[token * pairs + p] = __floats2bfloat162_rn(sum.x, sum.y);
  }
}
