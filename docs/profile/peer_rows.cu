// A program of docs/guide/profile.md: GPU 0 fetches the transpose of a matrix that GPU 1 has. `slow`: the lanes of a warp
// read from as many rows. `repaired`: they read neighbours, and write to as many rows of their own memory.
#include <cuda_runtime.h>

#include <cstring>
#include <vector>

#include "../../examples/common/check.h"

constexpr int kSize = 512, kThreads = 256;

// [slow]
__global__ void lanes_read_rows(const float* from, float* to) {
  const int row = blockIdx.x * kThreads + threadIdx.x, column = blockIdx.y;
  to[column * kSize + row] = from[row * kSize + column];
}
// [/slow]

// [repaired]
__global__ void lanes_read_neighbours(const float* from, float* to) {
  const int row = blockIdx.y, column = blockIdx.x * kThreads + threadIdx.x;
  to[column * kSize + row] = from[row * kSize + column];
}
// [/repaired]

int main(int count, char** values) {
  const bool repaired = count > 1 && std::strcmp(values[1], "repaired") == 0;
  std::vector<float> matrix(kSize * kSize), result(matrix.size());
  for (size_t k = 0; k < matrix.size(); ++k) matrix[k] = static_cast<float>(k);
  const size_t bytes = matrix.size() * sizeof(float);
  float *from = nullptr, *to = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMemcpy(from, matrix.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  CHECK(cudaMalloc(&to, bytes));
  const dim3 blocks(kSize / kThreads, kSize);
  if (repaired) {
    lanes_read_neighbours<<<blocks, kThreads>>>(from, to);
  } else {
    lanes_read_rows<<<blocks, kThreads>>>(from, to);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(result.data(), to, bytes, cudaMemcpyDeviceToHost));
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      if (result[column * kSize + row] != matrix[row * kSize + column]) fail("row %d, column %d is wrong", row, column);
    }
  }
}
