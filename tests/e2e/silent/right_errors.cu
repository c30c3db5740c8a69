// Errors that are answers: none of them is a launch.
// exit: 0
// says: 4 kernels, 128 accesses checked: 0 findings
// says: note: this call failed: cudaMalloc
// never: launch:
#include "silent.h"
int main() {
  int* x = words();
  int can = 0;
  cudaDeviceCanAccessPeer(&can, 0, 1);
  cudaDeviceEnablePeerAccess(1, 0);
  cudaDeviceEnablePeerAccess(1, 0);  // cudaErrorPeerAccessAlreadyEnabled
  void* much = nullptr;
  cudaMalloc(&much, size_t{1} << 50);  // cudaErrorMemoryAllocation
  fill<<<1, 32>>>(x);
  while (cudaStreamQuery(nullptr) == cudaErrorNotReady) {
  }
  cudaGetLastError();
  cudaSetDevice(1000);
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  float ms = 0;
  cudaEventElapsedTime(&ms, event, event);
  fill<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  return cudaGetLastError() == cudaSuccess ? 0 : 0;
}
