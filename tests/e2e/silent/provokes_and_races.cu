// … and a race does.
// exit: 1
// ignoring: 1
// ignoring says: race:
#include "silent.h"
__global__ void all_write(int* x) { *x = static_cast<int>(blockIdx.x); }
int main() {
  int* x = words();
  fill<<<1, 4096>>>(x);
  all_write<<<2, 1>>>(x);
  cudaDeviceSynchronize();
}
