// Instances of kernel templates that only the host names, with shared variables of their own; also compiled with
// -rdc=true.

#include "checks.h"

namespace {

template <int kSize>
__global__ void reverse(int* values) {
  __shared__ int tile[kSize];
  tile[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = tile[kSize - 1 - threadIdx.x];
}

}  // namespace

template <class T, int kFactor>
__global__ void scale(T* values) {
  values[threadIdx.x] *= kFactor;
}

int main() {
  int* values = shared_array<int>(64);
  for (int k = 0; k < 64; ++k) values[k] = k;
  reverse<32><<<1, 32>>>(values);
  reverse<64><<<1, 64>>>(values);
  scale<int, 3><<<1, 64>>>(values);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 32; ++k) CHECK_EQ(values[k], 3 * (63 - k));
  for (int k = 32; k < 64; ++k) CHECK_EQ(values[k], 3 * (k - 32));
  return finish();
}
