// Of 20 launches of a loop, each fails at the same line: one finding. The kernel before them ran.
// exit: 1
// says: fill(int*) with a grid of (1, 1, 1), blocks of (32, 1, 1) threads and 500000 bytes of dynamic shared memory
// says: checked: 1 finding
// ignoring: 0
// ignoring says: 2 kernels, 64 accesses checked: 0 findings (note: 2 errors ignored)
#include "silent.h"
int main() {
  int* x = words();
  fill<<<1, 32>>>(x);
  for (int k = 0; k < 20; ++k) fill<<<1, 32, 500000>>>(x);
  cudaDeviceSynchronize();
}
