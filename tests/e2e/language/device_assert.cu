// A failed assert ends the context with cudaErrorAssert.
#include <cassert>

#include "checks.h"

__global__ void check_index(int limit) { assert(static_cast<int>(threadIdx.x) < limit && "small"); }

int main() {
  check_index<<<2, 4>>>(4);
  CHECK(cudaDeviceSynchronize());
  check_index<<<2, 4>>>(3);
  CHECK_EQ(cudaDeviceSynchronize() == cudaErrorAssert, true);
  CHECK_EQ(cudaGetLastError() == cudaErrorAssert, true);
  return finish();
}
