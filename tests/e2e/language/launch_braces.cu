// Launch configurations in braces, with and without a type.
#include "checks.h"

__global__ void shape(int* out) {
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0 && blockIdx.x == 0 && blockIdx.y == 0) {
    out[0] = static_cast<int>(gridDim.x * 10 + gridDim.y);
    out[1] = static_cast<int>(blockDim.x * 100 + blockDim.y * 10 + blockDim.z);
  }
}
template <int kNumber>
__global__ void number(int* out) {
  atomicAdd(out, kNumber);
}
#define LAUNCH(kernel, threads) kernel<<<{1, 1}, {threads, 1}>>>

int main() {
  int* out = shared_array(2);
  const unsigned x = 4, y = 2;
  shape<<<dim3(3, 2), {x, y, 1}>>>(out);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(out[0], 32);
  CHECK_EQ(out[1], 421);
  shape<<<{2, x > 3 ? 8u >> 2 : 1u}, {x}, 0, {}>>>(out);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(out[0], 22);
  CHECK_EQ(out[1], 411);
  out[0] = 0;
  number<3><<<{},  // { a comment
              {2, 2}>>>(out);
  LAUNCH(number<5>, 1)(out);
  const int signed_count = 3;
  number<7><<<1, {static_cast<unsigned>(signed_count)}>>>(out);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(out[0], 4 * 3 + 5 + 7 * 3);
  return finish();
}
