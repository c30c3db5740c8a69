// cause: signalled too early and reset
// The flag is cleared on the stream of the waiting device, after the other device has signalled.
#include "hang.h"

__global__ void signal(Word* flag) { STORE(flag, 1); }
__global__ void wait(Word* flag) {
  while (LOAD(flag) != 1) continue;  // waits
}

int main() {
  connect_two_devices();
  Word* flag = make_words(0);
  CHECK(cudaSetDevice(1));
  signal<<<1, 1>>>(flag);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemsetAsync(flag, 0, sizeof *flag));
  wait<<<1, 1>>>(flag);
  wait_for_devices(1);
}
