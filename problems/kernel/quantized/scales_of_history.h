#pragma once

// Scales from the history of moduli, of the baselines.

constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps;

// The largest number of all threads of a block, none of them negative.
__device__ float largest(float own) {
  __shared__ float of_warp[kWarps];
  for (int step = kWarp / 2; step > 0; step /= 2) own = fmaxf(own, __shfl_xor_sync(~0u, own, step));
  __syncthreads();  // the last use has ended
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = own;
  __syncthreads();
  for (const float other : of_warp) own = fmaxf(own, other);
  return own;
}

// A block for each weight: its scale, and all of the new history but the last step.
__global__ void begin(const float* history, float* scales, float* most, float* new_history, int64_t steps) {
  const int64_t w = blockIdx.x, row = w * steps;
  float peak = 0;
  for (int64_t h = threadIdx.x; h < steps; h += kThreads) {
    const float value = __ldg(history + row + h);
    peak = fmaxf(peak, value);
    if (h > 0) new_history[row + h - 1] = value;
  }
  const float scale = largest(peak) / 448.0F;
  if (threadIdx.x != 0) return;
  scales[w] = scale > 0 ? scale : 1;
  most[w] = 0;
}
