// cause: host waits for device that waits for host
// The host synchronises with a kernel before it writes what the kernel waits for.
#include "hang.h"

__global__ void wait_for_host(Word* flag) {
  while (LOAD(flag) != 7) continue;  // waits
}

int main() {
  Word* flag = nullptr;
  CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
  *flag = 0;
  wait_for_host<<<1, 1>>>(flag);
  CHECK(cudaDeviceSynchronize());
  STORE(flag, 7);
}
