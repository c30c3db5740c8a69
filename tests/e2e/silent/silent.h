// What the programs share: small kernels, and no look at any error unless a program says so.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

__global__ inline void fill(int* x) { x[threadIdx.x] = static_cast<int>(threadIdx.x); }

inline int* words(int count = 256) {
  int* made = nullptr;
  cudaMalloc(&made, static_cast<size_t>(count) * sizeof(int));
  return made;
}
