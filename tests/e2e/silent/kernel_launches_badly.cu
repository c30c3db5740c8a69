// A launch by a kernel fails; the host does not see that.
// options: -rdc=true
// exit: 1
// says: launch: rank 0: a launch of a kernel by a kernel on device 0
#include "silent.h"
__global__ void outer(int* x) { fill<<<1, 4096>>>(x); }
int main() {
  outer<<<1, 1>>>(words());
  cudaDeviceSynchronize();
}
