// What the programs of this folder share. The constructs, and the mistakes, are in the programs.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "../../../examples/common/check.h"

// Zeroed device memory of the current device.
template <class T>
T* zeroed(size_t count) {
  T* array = nullptr;
  CHECK(cudaMalloc(&array, count * sizeof(T)));
  CHECK(cudaMemset(array, 0, count * sizeof(T)));
  CHECK(cudaDeviceSynchronize());
  return array;
}

template <class T>
std::vector<T> read(const T* array, size_t count) {
  std::vector<T> host(count);
  CHECK(cudaMemcpy(host.data(), array, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

inline void expect(int got, int expected, const char* what) {
  if (got != expected) fail("%s: %d, expected %d", what, got, expected);
}
