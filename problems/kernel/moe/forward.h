#pragma once

// Routing and gathering of the baselines with two experts for each token.

constexpr int kThreads = 128;
constexpr int kChosen = 2, kMostWorld = 8;

// A block has all tokens; a thread takes one at a time: its two experts, with their probabilities. Counts follow.
__global__ void route(const float* logits, int32_t* ids, float* weights, int32_t* counts, int tokens, int experts) {
  __shared__ int32_t own[kMostWorld];
  if (threadIdx.x < kMostWorld) own[threadIdx.x] = 0;
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < tokens; t += static_cast<int>(blockDim.x)) {
    float logit[kMostWorld];
#pragma unroll
    for (int e = 0; e < kMostWorld; ++e) logit[e] = e < experts ? logits[t * experts + e] : 0;
    int first = 0, second = -1;
    float most = logit[0], next = 0;
#pragma unroll
    for (int e = 1; e < kMostWorld; ++e) {
      if (e >= experts) break;
      if (logit[e] > most) {
        second = first;
        next = most;
        first = e;
        most = logit[e];
      } else if (second < 0 || logit[e] > next) {
        second = e;
        next = logit[e];
      }
    }
    float sum = 0;
#pragma unroll
    for (int e = 0; e < kMostWorld; ++e) sum += e < experts ? __expf(logit[e] - most) : 0;
    ids[t * kChosen] = first;
    ids[t * kChosen + 1] = second;
    weights[t * kChosen] = 1 / sum;
    weights[t * kChosen + 1] = __expf(next - most) / sum;
    atomicAdd(&own[first], 1);
    atomicAdd(&own[second], 1);
  }
  __syncthreads();
  if (threadIdx.x < experts) counts[threadIdx.x] = own[threadIdx.x];
}

// A block for each choice: its place is behind those of smaller experts, and of earlier choices of the same one.
__global__ void sort(const uint4* x, const int32_t* ids, uint4* sorted, int32_t* places, int64_t vectors) {
  const int choices = static_cast<int>(gridDim.x), choice = static_cast<int>(blockIdx.x), expert = ids[choice];
  int place = 0;
  for (int first = 0; first < choices; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x), id = i < choices ? ids[i] : kMostWorld;
    place += __syncthreads_count(id < expert || (id == expert && i < choice));
  }
  for (int64_t v = threadIdx.x; v < vectors; v += kThreads)
    sorted[place * vectors + v] = x[choice / kChosen * vectors + v];
  if (threadIdx.x == 0) places[choice] = place;
}

__global__ void gate(const float* u, const float* v, __nv_bfloat16* h, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) h[i] = __float2bfloat16(u[i] / (1 + __expf(-u[i])) * v[i]);
}
