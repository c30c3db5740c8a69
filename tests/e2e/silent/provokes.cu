// A test of errors, as programs have them: with --ignore-errors nothing but races and deadlocks counts.
// exit: 1
// ignoring: 0
// ignoring says: checked: 0 findings (note: 6 errors ignored)
#include <cuda.h>

#include "silent.h"
__global__ void far(int* x) { x[1 << 20] = 1; }
int main() {
  int* x = words();
  fill<<<1, 32>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  fill<<<1, 4096>>>(x);
  if (cudaGetLastError() != cudaErrorInvalidConfiguration) return 1;
  CUmodule module = nullptr;
  if (cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\nnonsense\n") == CUDA_SUCCESS) return 1;
  far<<<1, 1>>>(x);
  if (cudaDeviceSynchronize() != cudaErrorIllegalAddress) return 1;
}
