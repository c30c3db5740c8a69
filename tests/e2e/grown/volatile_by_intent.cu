// Volatile flags without fences, set by a weak store: harmless on hardware as the author knows it, and allowed by
// --allow volatile. The mistake is elsewhere: the buffer is written again before it has been read.
//
// flags: --allow volatile
// class: buffer reused too early
// also: unordered, fence by another thread than the stores
// lines: again read
#include "grown.h"

constexpr int kThreads = 64;

__global__ void producer(int* data, int* flag) {
  data[threadIdx.x] = 7;
  __syncthreads();
  if (threadIdx.x == 0) *flag = 1;
#ifdef MISTAKE
  data[threadIdx.x] = 8;  // [again]
#endif
}

__global__ void consumer(int* data, const volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (*flag == 0) continue;
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];  // [read]
}

int main() {
  int *data = zeroed<int>(kThreads), *flag = zeroed<int>(1), *out = zeroed<int>(kThreads);
  cudaStream_t streams[2];
  for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  consumer<<<1, kThreads, 0, streams[0]>>>(data, flag, out);
  producer<<<1, kThreads, 0, streams[1]>>>(data, flag);
  CHECK(cudaDeviceSynchronize());
#ifndef MISTAKE
  for (const int value : read(out, kThreads)) expect(value, 7, "out");
#endif
  std::puts("OK volatile flags as they are meant");
}
