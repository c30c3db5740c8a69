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

// What a program has computed; each compares all of it. With -DWRONG_VALUE=N the last value of the Nth array is another
// one, which grown_test.py expects to be noticed.
template <class T>
std::vector<T> read(const T* array, size_t count) {
  std::vector<T> host(count);
  CHECK(cudaMemcpy(host.data(), array, count * sizeof(T), cudaMemcpyDeviceToHost));
#ifdef WRONG_VALUE
  static int arrays = 0;
  if (++arrays == WRONG_VALUE) {
    ++host.back();
    std::puts("a value was changed");
  }
#endif
  return host;
}

inline void expect(long long got, long long expected, const char* what) {
  if (got != expected) fail("%s: %lld, expected %lld", what, got, expected);
}
