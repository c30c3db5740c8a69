// A device assertion; the launches behind it fail with the context's own error and are no findings of theirs.
// exit: 1
// says: checked: 1 finding
#include <cassert>

#include "silent.h"
__global__ void wrong(const int* x) { assert(x[threadIdx.x] == 1); }
int main() {
  int* x = words();
  fill<<<1, 32>>>(x);
  wrong<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  for (int k = 0; k < 4; ++k) fill<<<1, 32>>>(x);
  cudaDeviceSynchronize();
}
