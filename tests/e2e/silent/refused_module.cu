// The text of a module is no PTX; the program goes on without its kernel.
// exit: 1
// says: launch: rank 0 loaded a module that is not PTX
// says: 1 kernel, 32 accesses checked: 1 finding
// ignoring: 0
#include <cuda.h>

#include "silent.h"
int main() {
  fill<<<1, 32>>>(words());
  cudaDeviceSynchronize();
  CUmodule module = nullptr;
  if (cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { nonsense; }\n") !=
      CUDA_SUCCESS)
    std::puts("no fast path");
}
