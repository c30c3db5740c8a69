#pragma once

#include <cuda_runtime_api.h>

// Of weights.cu.
cudaError_t set_scale(float scale);
int times_weighed();

// Of sums.cu: the sum of the weighed numbers first, first + 1, … first + count - 1.
cudaError_t weighed_sum(int first, int count, float* sum);

// Of report.cpp.
void report(const char* what, float value);

#ifdef __CUDACC__
using Weigh = float (*)(float);
extern __constant__ float scale;
extern __device__ Weigh chosen;
extern __device__ unsigned int weighings;
__device__ float weigh(float x);

// In every file that uses it: one of them is linked.
template <class T>
__device__ __noinline__ T twice(T x) {
  return x + x;
}
#endif
