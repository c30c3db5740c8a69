#include <cuda_runtime_api.h>
#include <stdio.h>
int main(void) {
  int devices = 0, new = 3; /* C, not C++ */
  cudaGetDeviceCount(&devices);
  printf("%d GPUs %d\n", devices, new);
  return 0;
}
