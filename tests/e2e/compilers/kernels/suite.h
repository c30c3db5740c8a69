// Runs kernels on drawn inputs and prints a sum of what they wrote, which is the same for all compilers.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                              \
  do {                                                                           \
    const cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                                  \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

// Memory of a device, filled with small whole numbers, so that sums in any order are exact.
template <class T>
struct Array {
  explicit Array(size_t count) : count(count) {
    std::vector<T> values(count);
    uint32_t x = 12345;
    for (T& value : values) {
      x = x * 1664525u + 1013904223u;
      value = static_cast<T>(static_cast<float>((x >> 24) % 7));
    }
    CHECK(cudaMalloc(&data, count * sizeof(T)));
    CHECK(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Array() { cudaFree(data); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void print(const char* name) {
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::vector<uint8_t> bytes(count * sizeof(T));
    CHECK(cudaMemcpy(bytes.data(), data, bytes.size(), cudaMemcpyDeviceToHost));
    uint64_t sum = 14695981039346656037u;
    for (const uint8_t byte : bytes) sum = (sum ^ byte) * 1099511628211u;
    std::printf("%s %016llx\n", name, static_cast<unsigned long long>(sum));
  }

  T* data = nullptr;
  size_t count = 0;
};
