// A program of docs/guide/profile.md: a matrix is transposed tile by tile through shared memory. `slow`: a column of a tile
// lies in one bank. `repaired`: rows of a tile are a word longer.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "../../examples/common/check.h"

constexpr int kTile = 32, kSize = 512;

// [kernel]
template <int kPitch>
__global__ void transpose(const float* from, float* to) {
  __shared__ float tile[kTile][kPitch];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * kTile, row = blockIdx.y * kTile;
  tile[y][x] = from[(row + y) * kSize + column + x];
  __syncthreads();
  to[(column + y) * kSize + row + x] = tile[x][y];
}
// [/kernel]

int main(int count, char** values) {
  const bool repaired = count > 1 && std::strcmp(values[1], "repaired") == 0;
  std::vector<float> matrix(kSize * kSize), result(matrix.size());
  for (size_t k = 0; k < matrix.size(); ++k) matrix[k] = static_cast<float>(k);
  const size_t bytes = matrix.size() * sizeof(float);
  float *from = nullptr, *to = nullptr;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes));
  CHECK(cudaMemcpy(from, matrix.data(), bytes, cudaMemcpyHostToDevice));
  const dim3 blocks(kSize / kTile, kSize / kTile), threads(kTile, kTile);
  // [launch]
  if (repaired) {
    transpose<kTile + 1><<<blocks, threads>>>(from, to);
  } else {
    transpose<kTile><<<blocks, threads>>>(from, to);
  }
  // [/launch]
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(result.data(), to, bytes, cudaMemcpyDeviceToHost));
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      if (result[row * kSize + column] != matrix[column * kSize + row]) fail("row %d, column %d is wrong", row, column);
    }
  }
}
