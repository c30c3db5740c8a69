// Shared variables of classes with constructors and destructors: neither runs.
#include "checks.h"

struct Counter {
  int value;
  __device__ Counter() : value(5) {}
  __device__ ~Counter() { value = 9; }
  __device__ void add(int n) { atomicAdd(&value, n); }
};
struct WithDefault {
  int value = 7;
};
template <class T>
__global__ void use(int* out) {
  __shared__ T one;
  __shared__ T several[2][3];
  if (threadIdx.x == 0) {
    one.value = 1;
    several[1][2].value = 2;
  }
  __syncthreads();
  atomicAdd(&one.value, static_cast<int>(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) out[0] = one.value * 10 + several[1][2].value + static_cast<int>(sizeof several / sizeof one);
}

int main() {
  int* out = shared_array(1);
  use<Counter><<<1, 4>>>(out);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(out[0], 78);
  out[0] = 0;
  use<WithDefault><<<1, 4>>>(out);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(out[0], 78);
  return finish();
}
