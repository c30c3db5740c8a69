// Streams, events and the clock: work that overlaps, work that waits, and how long it took.
//
// Teaches: work on one stream runs in order, work on two streams may overlap; an event marks a point in a stream, which
// another stream can wait for (on the device) and the host too; two events measure the time between them.
// Watch out: asynchronous copies need pinned host memory. cudaEventElapsedTime answers only when both events have
// happened. An event without timing is cheaper, and right for ordering; it can't be measured.
//
// Run: fabricbench exec --platform h100x8 --ranks 1 examples/03_streams_events_timing.cu
#include <cuda_runtime.h>

#include <cstdio>

#include "common/check.h"

__global__ void scale(float* values, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= factor;
}

__global__ void add(const float* a, float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] += a[i];
}

int main() {
  constexpr int kCount = 60001;
  constexpr int kThreads = 256, kBlocks = (kCount + kThreads - 1) / kThreads;
  constexpr size_t kBytes = kCount * sizeof(float);

  cudaStream_t left = nullptr, right = nullptr;
  CHECK(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
  cudaEvent_t begin = nullptr, end = nullptr, left_done = nullptr;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventCreateWithFlags(&left_done, cudaEventDisableTiming));

  float *host = nullptr, *a = nullptr, *b = nullptr;
  CHECK(cudaMallocHost(&host, kBytes));
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i % 1000);

  // Both streams copy in and scale. The right one then needs what the left one made: it waits for an event, on the
  // device; the host goes on at once.
  CHECK(cudaEventRecord(begin, right));
  CHECK(cudaMemcpyAsync(a, host, kBytes, cudaMemcpyHostToDevice, left));
  CHECK(cudaMemcpyAsync(b, host, kBytes, cudaMemcpyHostToDevice, right));
  scale<<<kBlocks, kThreads, 0, left>>>(a, kCount, 2.0f);
  scale<<<kBlocks, kThreads, 0, right>>>(b, kCount, 3.0f);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(left_done, left));
  CHECK(cudaStreamWaitEvent(right, left_done, 0));
  add<<<kBlocks, kThreads, 0, right>>>(a, b, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(host, b, kBytes, cudaMemcpyDeviceToHost, right));
  CHECK(cudaEventRecord(end, right));

  // A query never waits: it says whether the event has happened.
  const cudaError_t state = cudaEventQuery(end);
  if (state != cudaSuccess && state != cudaErrorNotReady) CHECK(state);
  CHECK(cudaEventSynchronize(end));
  CHECK(cudaEventQuery(left_done));  // the end came after it

  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  if (milliseconds <= 0) fail("the work took %g ms", milliseconds);
  for (int i = 0; i < kCount; ++i) {
    const float expected = 5.0f * static_cast<float>(i % 1000);
    if (host[i] != expected) fail("element %d is %g, expected %g", i, host[i], expected);
  }

  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaEventDestroy(left_done));
  CHECK(cudaStreamDestroy(left));
  CHECK(cudaStreamDestroy(right));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  std::printf("OK streams and events: %.3f ms\n", milliseconds);
}
