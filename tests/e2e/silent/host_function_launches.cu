// Host functions must not call CUDA.
// exit: 1
// says: the launch of kernel
// says: cudaErrorNotPermitted
#include "silent.h"
int* x = nullptr;
void next(void*) { fill<<<1, 32>>>(x); }
int main() {
  x = words();
  fill<<<1, 32>>>(x);
  cudaLaunchHostFunc(nullptr, next, nullptr);
  cudaDeviceSynchronize();
}
