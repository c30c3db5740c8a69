// The transpose of a square matrix of f32 in three steps, blocks of 32 × 8 threads for 32 × 32 elements. RATE is of
// bytes read and written, SHARE of 3.35 TB/s, the peak of an H100's memory.
#include <string>
#include <vector>

#include "ladder.h"

constexpr double kPeak = 3350;  // GB/s
constexpr int kTile = 32, kRows = 8;

// Rows are read by lines, but columns are written: each store of a warp touches 32 lines.
__global__ void transpose_naive(const float* from, float* to, int n) {
  const int x = blockIdx.x * kTile + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kTile; k += kRows) {
    const int y = blockIdx.y * kTile + threadIdx.y + k;
    to[size_t(x) * n + y] = from[size_t(y) * n + x];
  }
}

// A tile in shared memory, read there by columns. With a pitch of 32 words a column is in one bank; with 33 it is in
// all.
template <int kPitch>
__device__ void transpose_tile(const float* from, float* to, int n) {
  __shared__ float tile[kTile][kPitch];
  const int x = blockIdx.x * kTile, y = blockIdx.y * kTile;
#pragma unroll
  for (int k = threadIdx.y; k < kTile; k += kRows) tile[k][threadIdx.x] = from[size_t(y + k) * n + x + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int k = threadIdx.y; k < kTile; k += kRows) to[size_t(x + k) * n + y + threadIdx.x] = tile[threadIdx.x][k];
}

__global__ void transpose_shared(const float* from, float* to, int n) { transpose_tile<kTile>(from, to, n); }
__global__ void transpose_padded(const float* from, float* to, int n) { transpose_tile<kTile + 1>(from, to, n); }

struct Step {
  const char* name;
  void (*kernel)(const float* from, float* to, int n);
};

const Step kSteps[] = {
    {"transpose_naive", transpose_naive},
    {"transpose_shared", transpose_shared},
    {"transpose_padded", transpose_padded},
};

int main(int argc, char** argv) {
  const LadderOptions options = read_options(argc, argv);
  const int n = options.check ? 128 : 4096;
  const size_t count = size_t(n) * n;
  std::vector<float> values(count), result(count);
  for (size_t k = 0; k < count; ++k) values[k] = static_cast<float>(k % 1000003);
  auto* from = device_memory<float>(count);
  auto* to = device_memory<float>(count);
  CHECK(cudaMemcpy(from, values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  bool found = false;
  for (const Step& step : kSteps) {
    if (!options.only.empty() && options.only != step.name) continue;
    found = true;
    CHECK(cudaMemset(to, 0xff, count * sizeof(float)));
    const dim3 grid(n / kTile, n / kTile), block(kTile, kRows);
    const double us = microseconds_of([&] { step.kernel<<<grid, block>>>(from, to, n); });
    CHECK(cudaMemcpy(result.data(), to, count * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t at = 0; at < count; ++at) {
      const float wanted = values[at % n * n + at / n];
      if (result[at] != wanted) fail("%s: element %zu is %g instead of %g", step.name, at, result[at], wanted);
    }
    const std::string size = std::to_string(n) + "x" + std::to_string(n);
    print_step(step.name, size.c_str(), us, 2e-3 * static_cast<double>(count) * sizeof(float) / us, "GB/s", kPeak);
  }
  if (!found) fail("no step of this name");
}
