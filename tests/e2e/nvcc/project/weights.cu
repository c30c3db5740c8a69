#include "ripples.h"

__constant__ float scale = 1.0f;
__device__ unsigned int weighings = 0;
static __device__ float offset = 0.5f;

__device__ float weigh(float x) {
  atomicAdd(&weighings, 1u);
  return x * scale + offset;
}
__device__ Weigh chosen = weigh;

cudaError_t set_scale(float value) { return cudaMemcpyToSymbol(scale, &value, sizeof value); }

int times_weighed() {
  unsigned int count = 0;
  cudaMemcpyFromSymbol(&count, weighings, sizeof count);
  return static_cast<int>(count);
}
