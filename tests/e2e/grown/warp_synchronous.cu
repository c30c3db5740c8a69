// A reduction in shared memory whose last steps are of one warp, with __syncwarp between reads and writes.
//
// class: intra-warp conflict
// lines: step
#include "grown.h"

constexpr int kThreads = 128;

__global__ void sum(const int* in, int* out) {
  __shared__ int partial[kThreads];
  const unsigned int t = threadIdx.x;
  partial[t] = in[t];
  __syncthreads();
  for (unsigned int s = kThreads / 2; s >= 32; s /= 2) {
    if (t < s) partial[t] += partial[t + s];
    __syncthreads();
  }
  if (t < 32) {
    for (unsigned int s = 16; s > 0; s /= 2) {
      const int other = partial[t + s];  // [step]
#ifndef MISTAKE
      __syncwarp();
#endif
      partial[t] += other;
      __syncwarp();
    }
  }
  if (t == 0) *out = partial[0];
}

int main() {
  int *in = zeroed<int>(kThreads), *out = zeroed<int>(1);
  std::vector<int> host(kThreads, 3);
  CHECK(cudaMemcpy(in, host.data(), kThreads * sizeof(int), cudaMemcpyHostToDevice));
  sum<<<1, kThreads>>>(in, out);
  expect(read(out, 1)[0], 3 * kThreads, "sum");
  std::puts("OK a reduction whose end is warp-synchronous");
}
