// Algorithms over the whole device.
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

#include "checks.h"

// Calls an algorithm twice: for the bytes that it needs, and with them.
template <class F>
void twice(F algorithm) {
  size_t bytes = 0;
  CHECK(algorithm(nullptr, bytes));
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, bytes + 1));
  CHECK(algorithm(memory, bytes));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(memory));
}

struct IsEven {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

int main() {
  const int n = 3000;
  int *in = shared_array(n), *out = shared_array(n), *values = shared_array(n), *moved = shared_array(n);
  int* count = shared_array(1);
  for (int i = 0; i < n; ++i) {
    in[i] = static_cast<int>(static_cast<unsigned>(i) * 2654435761u >> 20) - 2000;
    values[i] = i;
  }
  const std::vector<int> host(in, in + n);

  twice([&](void* m, size_t& b) { return cub::DeviceReduce::Sum(m, b, in, out, n); });
  CHECK_EQ(out[0], std::accumulate(host.begin(), host.end(), 0));
  twice([&](void* m, size_t& b) { return cub::DeviceReduce::Max(m, b, in, out, n); });
  CHECK_EQ(out[0], *std::max_element(host.begin(), host.end()));

  twice([&](void* m, size_t& b) { return cub::DeviceScan::InclusiveSum(m, b, in, out, n); });
  std::vector<int> wanted(n);
  std::partial_sum(host.begin(), host.end(), wanted.begin());
  for (int i = 0; i < n; ++i) CHECK_EQ(out[i], wanted[i]);

  twice([&](void* m, size_t& b) { return cub::DeviceRadixSort::SortPairs(m, b, in, out, values, moved, n); });
  wanted = host;
  std::sort(wanted.begin(), wanted.end());
  for (int i = 0; i < n; ++i) {
    CHECK_EQ(out[i], wanted[i]);
    CHECK_EQ(in[moved[i]], wanted[i]);
  }
  twice([&](void* m, size_t& b) { return cub::DeviceRadixSort::SortKeysDescending(m, b, in, out, n); });
  for (int i = 0; i < n; ++i) CHECK_EQ(out[i], wanted[n - 1 - i]);

  twice([&](void* m, size_t& b) { return cub::DeviceSelect::If(m, b, in, out, count, n, IsEven()); });
  CHECK_EQ(*count, std::count_if(host.begin(), host.end(), IsEven()));
  CHECK_EQ(out[0], *std::find_if(host.begin(), host.end(), IsEven()));

  for (int i = 0; i < n; ++i) in[i] = i / 100;
  twice([&](void* m, size_t& b) { return cub::DeviceRunLengthEncode::Encode(m, b, in, out, moved, count, n); });
  CHECK_EQ(*count, 30);
  CHECK_EQ(out[7], 7);
  CHECK_EQ(moved[7], 100);
  twice([&](void* m, size_t& b) { return cub::DeviceSelect::Unique(m, b, in, out, count, n); });
  CHECK_EQ(*count, 30);

  twice([&](void* m, size_t& b) { return cub::DeviceHistogram::HistogramEven(m, b, in, out, 11, 0, 30, n); });
  for (int i = 0; i < 10; ++i) CHECK_EQ(out[i], 300);

  int* offsets = shared_array(4);
  for (int i = 0; i < 4; ++i) offsets[i] = i * 1000;
  twice([&](void* m, size_t& b) { return cub::DeviceSegmentedReduce::Sum(m, b, in, out, 3, offsets, offsets + 1); });
  CHECK_EQ(out[0], 4500);
  CHECK_EQ(out[2], 24500);
  return finish();
}
