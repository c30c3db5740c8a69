// exit: 1
// says: the launch of kernel fill(int*) with a grid of (100000, 1, 1)
// says: cudaErrorCooperativeLaunchTooLarge
#include "silent.h"
int main() {
  int* x = words();
  void* arguments[] = {&x};
  cudaLaunchCooperativeKernel(fill, dim3(100000), dim3(256), arguments, 0, nullptr);
  cudaDeviceSynchronize();
}
