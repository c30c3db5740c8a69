// Volatile flags with fences on both sides: relaxed accesses and fences order as release and acquire do.
//
// class: read without acquire
// lines: write read
#include "grown.h"

constexpr int kThreads = 128;

__global__ void pipeline(int* data, volatile int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;  // [write]
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
  } else {
    if (threadIdx.x == 0) {
      while (*flag == 0) continue;
#ifndef MISTAKE
      __threadfence();
#endif
    }
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x];  // [read]
  }
}

int main() {
  int *data = zeroed<int>(kThreads), *flag = zeroed<int>(1), *out = zeroed<int>(kThreads);
  pipeline<<<2, kThreads>>>(data, flag, out);
  const auto got = read(out, kThreads);
  for (int i = 0; i < kThreads; ++i) expect(got[i], i + 1, "out");
  std::puts("OK volatile flags with fences");
}
