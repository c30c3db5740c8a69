// Rows of the table, and what they share: a handle, a stream and three buffers.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_fp8.h>

#include <functional>
#include <string>
#include <vector>

struct Row {
  std::string name;
  int expected;  // cublasStatus_t; of rows that look at results: 0 where these are right
  std::function<int()> act;
};
using Rows = std::vector<Row>;

constexpr int kWrongValue = 1000;  // a result differs
constexpr int kCudaFailed = 1001;
constexpr int kSize = 64;  // of square matrices, and of vectors

struct Fixture {
  cublasHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
  double *a = nullptr, *b = nullptr, *c = nullptr;  // 4 * kSize * kSize each
};
Fixture& fixture();

template <class T>
T* as(double* p) {
  return reinterpret_cast<T*>(p);
}

// Copies to the device and back, behind the fixture's stream.
template <class T>
void put(double* to, const std::vector<T>& from) {
  cudaStreamSynchronize(fixture().stream);
  cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
}
template <class T>
std::vector<T> take(double* from, size_t count) {
  std::vector<T> to(count);
  cudaStreamSynchronize(fixture().stream);
  cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost);
  return to;
}
template <class T>
int compare(double* on_device, const std::vector<T>& expected) {
  const auto got = take<T>(on_device, expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (static_cast<double>(got[i]) == static_cast<double>(expected[i])) continue;
    std::printf("element %zu: %g instead of %g\n", i, static_cast<double>(got[i]), static_cast<double>(expected[i]));
    return kWrongValue;
  }
  return 0;
}
