#include <cuda.h>

#include <cstdio>

#include "ripples.h"

__global__ void weigh_one(float x, float* to) { *to = twice(weigh(x)) + scale; }

int main() {
  float sum = 0, *one = nullptr;
  if (set_scale(2.0f) != cudaSuccess || weighed_sum(1, 10, &sum) != cudaSuccess) return 1;
  report("sum", sum);
  if (cudaMallocManaged(&one, sizeof *one) != cudaSuccess) return 1;
  weigh_one<<<1, 1>>>(3.0f, one);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  report("one", *one);
  int devices = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&devices) != CUDA_SUCCESS) return 1;
  std::printf("weighed %d times, %d GPUs\n", times_weighed(), devices);
  return 0;
}
