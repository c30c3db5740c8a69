// Copies between two GPUs on streams of their own, ordered by events with the kernels that make and use the data.
//
// class: unordered
// lines: write
#include "grown.h"

constexpr int kThreads = 128;

__global__ void make(int* data) { data[threadIdx.x] = static_cast<int>(threadIdx.x) * 2; }  // [write]
__global__ void use(const int* data, int* out) { out[threadIdx.x] = data[threadIdx.x] + 1; }

int main() {
  CHECK(cudaSetDevice(1));
  int *there = zeroed<int>(kThreads), *out = zeroed<int>(kThreads);
  cudaStream_t far;
  CHECK(cudaStreamCreateWithFlags(&far, cudaStreamNonBlocking));
  CHECK(cudaSetDevice(0));
  int* here = zeroed<int>(kThreads);
  cudaStream_t compute, copy;
  CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
  cudaEvent_t made, copied;
  CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));

  make<<<1, kThreads, 0, compute>>>(here);
  CHECK(cudaEventRecord(made, compute));
#ifndef MISTAKE
  CHECK(cudaStreamWaitEvent(copy, made, 0));
#endif
  CHECK(cudaMemcpyPeerAsync(there, 1, here, 0, kThreads * sizeof(int), copy));
  CHECK(cudaEventRecord(copied, copy));
  CHECK(cudaSetDevice(1));
  CHECK(cudaStreamWaitEvent(far, copied, 0));
  use<<<1, kThreads, 0, far>>>(there, out);
  CHECK(cudaStreamSynchronize(far));
#ifndef MISTAKE
  const auto got = read(out, kThreads);
  for (int i = 0; i < kThreads; ++i) expect(got[i], 2 * i + 1, "out");
#endif
  std::puts("OK copies ordered by events");
}
