#include <cstdio>

__global__ void add_all(int* sum) {
  *sum = *sum + 1;  // the race
}

int main() {
  int* sum = nullptr;
  cudaMalloc(&sum, sizeof *sum);
  cudaMemset(sum, 0, sizeof *sum);
  add_all<<<2, 1>>>(sum);
  return cudaDeviceSynchronize() != cudaSuccess;
}
