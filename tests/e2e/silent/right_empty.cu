// A kernel without an access is a kernel.
// exit: 0
// says: 2 kernels, 0 accesses checked: 0 findings
#include "silent.h"
__global__ void nothing() {}
int main() {
  nothing<<<1, 32>>>();
  cudaDeviceSynchronize();
}
