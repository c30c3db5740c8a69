// Two devices, one warp each: one gives the other a value and raises a flag. Written the wrong way round, or UNFENCED,
// or REPAIRED: exits with 1 where the flag was seen and the value was not.

#include <cuda_runtime.h>

#include <cstdio>

__global__ void give(volatile unsigned* data, volatile unsigned* flag) {
#if defined(UNFENCED)
  *const_cast<unsigned*>(data) = 7;
  *flag = 1;
#elif defined(REPAIRED)
  *data = 7;
  __threadfence_system();
  *flag = 1;
#else
  *flag = 1;
  *data = 7;
#endif
}

__global__ void take(volatile unsigned* data, volatile unsigned* flag, unsigned* seen) {
  while (*flag == 0) {
  }
  __threadfence_system();
  *seen = *data;
}

int main() {
  unsigned* cells = nullptr;
  unsigned seen = 0;
  cudaSetDevice(0);
  cudaMalloc(&cells, 3 * 256);
  cudaMemset(cells, 0, 3 * 256);
  cudaDeviceSynchronize();  // the other device must not come before it
  cudaSetDevice(1);
  cudaDeviceEnablePeerAccess(0, 0);
  take<<<1, 1>>>(cells, cells + 64, cells + 128);
  cudaSetDevice(0);
  give<<<1, 1>>>(cells, cells + 64);
  cudaDeviceSynchronize();
  cudaSetDevice(1);
  cudaDeviceSynchronize();
  cudaMemcpy(&seen, cells + 128, sizeof seen, cudaMemcpyDefault);
  std::printf("seen %u\n", seen);
  return seen == 7 ? 0 : 1;
}
