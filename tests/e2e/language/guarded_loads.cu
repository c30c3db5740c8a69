// Loads that only some threads may do, of addresses that do not change in a loop: no compiler moves them in front of the
// test, where other threads would load beyond the array.
#include "checks.h"

__global__ void guarded(const int4* weights, const int* starts, int count, const int* values, int* out, int rows) {
  const int t = static_cast<int>(threadIdx.x);
  const bool active = t < count;
  for (int row = 0; row < rows; ++row) {
    int sum = values[row];
    if (active) {
      const int4 w = __ldg(weights + t);
      int start;
      asm("ld.global.nc.s32 %0, [%1];" : "=r"(start) : "l"(starts + t));
      sum += w.x + w.y + w.z + w.w + start;
    }
    out[row * blockDim.x + t] = sum;
    __syncthreads();
  }
}

int main() {
  constexpr int kThreads = 64, kCount = 3, kRows = 5;
  int4* const weights = shared_array<int4>(kCount);
  int *const starts = shared_array(kCount), *const values = shared_array(kRows), *const out = shared_array(kRows * kThreads);
  for (int t = 0; t < kCount; ++t) {
    weights[t] = {t, 2 * t, 3 * t, 4};
    starts[t] = 100 * t;
  }
  for (int row = 0; row < kRows; ++row) values[row] = 1000 * row;
  guarded<<<1, kThreads>>>(weights, starts, kCount, values, out, kRows);
  CHECK(cudaDeviceSynchronize());
  for (int row = 0; row < kRows; ++row) {
    for (int t = 0; t < kThreads; ++t) CHECK_EQ(out[row * kThreads + t], 1000 * row + (t < kCount ? 106 * t + 4 : 0));
  }
  return finish();
}
