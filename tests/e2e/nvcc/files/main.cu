// Uses functions, variables and shared memory of values.cu.
#include <cstdio>

#include "values.h"

static __device__ int own = 100;
extern __shared__ int dynamic[];

namespace {
__global__ void use(int* out) {
  dynamic[threadIdx.x] = 1;
  mark(static_cast<int>(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0)
    *out = helper(2) + twice(counter) + table[1] + chosen(5) + own + board.cells[3] + dynamic[31] + shared_count +
           functions[1](1) + weights[1];
}
}  // namespace

int host_part();

int main() {
  int value = 0, five = 5, *out = nullptr;
  cudaMalloc(&out, sizeof *out);
  cudaMemcpyToSymbol(counter, &five, sizeof five);
  cudaMemcpyToSymbol(own, &five, sizeof five);
  use<<<1, 32, 128>>>(out);
  cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost);
  std::printf("%s: %d %d\n", cudaGetErrorString(cudaGetLastError()), value, host_part());
  return 0;
}
