// Two streams captured into one graph, forked and joined by events, launched several times.
//
// class: unordered
// also: buffer reused too early
// lines: write read
#include "grown.h"

constexpr int kThreads = 64;

__global__ void make(int* data, int value) { data[threadIdx.x] = value; }  // [write]
__global__ void add(const int* a, const int* b, int* sum) {
  const int other = b[threadIdx.x];  // [read]
  sum[threadIdx.x] = a[threadIdx.x] + other;
}

int main() {
  int *a = zeroed<int>(kThreads), *b = zeroed<int>(kThreads), *sum = zeroed<int>(kThreads);
  cudaStream_t main_stream, side;
  CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaEvent_t fork, join;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

  CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, main_stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  make<<<1, kThreads, 0, main_stream>>>(a, 1);
  make<<<1, kThreads, 0, side>>>(b, 2);
#ifdef MISTAKE
  add<<<1, kThreads, 0, main_stream>>>(a, b, sum);
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main_stream, join, 0));
#else
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main_stream, join, 0));
  add<<<1, kThreads, 0, main_stream>>>(a, b, sum);
#endif
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(main_stream, &graph));
  cudaGraphExec_t ready;
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(ready, main_stream));
  CHECK(cudaStreamSynchronize(main_stream));
#ifndef MISTAKE
  for (const int value : read(sum, kThreads)) expect(value, 3, "sum");
#endif
  std::puts("OK a captured graph");
}
