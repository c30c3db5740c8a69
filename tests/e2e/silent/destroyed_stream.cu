// A stream is destroyed with work in it, behind an event that never comes to pass.
// exit: 1
// says: ended before the work that it had launched
// says: kernel fill(int*), device 0
#include <cuda.h>

#include "silent.h"
int main() {
  int* x = words();
  cudaMemset(x, 0, 64);
  fill<<<1, 32>>>(x + 32);
  cudaDeviceSynchronize();
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(x), 1, CU_STREAM_WAIT_VALUE_EQ);
  fill<<<1, 32, 0, stream>>>(x + 64);
  cudaStreamDestroy(stream);
}
