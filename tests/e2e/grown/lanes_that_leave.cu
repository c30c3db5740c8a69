// Half of a warp leaves the kernel; the others pass words on across __syncwarp(), which waits for lanes that are there.
//
// class: intra-warp conflict
// lines: write read
#include "grown.h"

constexpr int kThreads = 32, kStay = 16;

__global__ void pass_on(int* words, int* out) {
  const unsigned int lane = threadIdx.x;
  if (lane >= kStay) return;
  words[lane] = static_cast<int>(lane);  // [write]
#ifndef MISTAKE
  __syncwarp();
#endif
  out[lane] = words[kStay - 1 - lane];  // [read]
}

int main() {
  int *words = zeroed<int>(kStay), *out = zeroed<int>(kStay);
  pass_on<<<1, kThreads>>>(words, out);
  CHECK(cudaDeviceSynchronize());
#ifndef MISTAKE
  const auto got = read(out, kStay);
  for (int lane = 0; lane < kStay; ++lane) expect(got[lane], kStay - 1 - lane, "out");
#endif
  std::puts("OK half of a warp passes words on");
}
