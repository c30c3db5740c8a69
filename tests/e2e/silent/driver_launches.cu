// exit: 1
// says: launch: rank 0: the launch of kernel that is not registered
#include <cuda.h>

#include "silent.h"
int main() {
  fill<<<1, 32>>>(words());
  cudaDeviceSynchronize();
  cuLaunchKernel(nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
}
