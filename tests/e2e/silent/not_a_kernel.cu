// A host function is launched.
// exit: 1
// says: cudaErrorInvalidDeviceFunction
#include "silent.h"
void not_a_kernel() {}
int main() {
  void* arguments[] = {nullptr};
  cudaLaunchKernel(reinterpret_cast<const void*>(&not_a_kernel), dim3(1), dim3(1), arguments, 0, nullptr);
  fill<<<1, 32>>>(words());
  cudaDeviceSynchronize();
}
