// Shared by the ladders: versions of one kernel, from the first that comes to mind to the best. A program runs its
// versions in order and prints one line for each: NAME SIZE MICROSECONDS RATE SHARE. Options: --check (small sizes, all
// results compared with the CPU's), a version's name (that one only).
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "../../../examples/common/check.h"

struct LadderOptions {
  bool check = false;
  std::string_view only;
};

inline LadderOptions read_options(int argc, char** argv) {
  LadderOptions options;
  for (int k = 1; k < argc; ++k) {
    if (std::strcmp(argv[k], "--check") == 0)
      options.check = true;
    else
      options.only = argv[k];
  }
  return options;
}

// Writes more than L2 holds.
__global__ inline void sweep(int4* memory, size_t count) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t k = size_t(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += step) memory[k] = int4{};
}
inline void sweep_l2() {
  constexpr size_t kBytes = size_t{96} << 20;
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, kBytes));
  sweep<<<132, 1024>>>(static_cast<int4*>(memory), kBytes / sizeof(int4));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(memory));
}

// Microseconds of the second of two launches, or, if caches are to be cold, of one.
template <class Launch>
double microseconds_of(Launch launch, bool cold = false) {
  cudaEvent_t begin = nullptr, end = nullptr;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  if (cold)
    sweep_l2();
  else
    launch();
  CHECK(cudaEventRecord(begin));
  launch();
  CHECK(cudaEventRecord(end));
  CHECK(cudaGetLastError());
  CHECK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return milliseconds * 1e3;
}

template <class T>
T* device_memory(size_t count) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  return static_cast<T*>(memory);
}

// Small integers: sums of their products are exact in any order.
inline int small_integer(uint64_t k) {
  k = (k + 1) * 0x9e3779b97f4a7c15;
  return static_cast<int>(k >> 33 & 7) - 3;
}

// rate: of what the whole chip does at its peak, in the same unit.
inline void print_step(const char* name, const char* size, double microseconds, double rate, const char* unit,
                       double peak) {
  std::printf("%-24s %-16s %10.2f us %9.2f %s %6.2f %%\n", name, size, microseconds, rate, unit, 100 * rate / peak);
}
