// A launch by a function that the node does not have.
// exit: 1
// says: the launch by cuLaunch: cudaErrorNotSupported
// says: not supported: cuLaunch
#include <cuda.h>

#include "silent.h"
extern "C" CUresult cuLaunch(CUfunction);
int main() {
  fill<<<1, 32>>>(words());
  cudaDeviceSynchronize();
  cuLaunch(nullptr);
}
