// GPU 0 hands a message over to GPU 1. Prints PASSED, and is wrong.
#include <cstdio>

__managed__ int message[256], sum;
__managed__ volatile int full;

__global__ void send() {
  message[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) full = 1;
}

__global__ void receive() {
  while (!full) continue;
  __threadfence_system();
  atomicAdd(&sum, message[threadIdx.x]);
}

int main() {
  cudaSetDevice(0);
  send<<<1, 256>>>();
  cudaSetDevice(1);
  receive<<<1, 256>>>();
  cudaDeviceSynchronize();
  cudaSetDevice(0);
  cudaDeviceSynchronize();
  std::puts(sum == 256 ? "PASSED" : "FAILED");
}
