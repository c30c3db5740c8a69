// cause: waits for later work of its stream
// Two streams, but the one that signals waits for an event behind the kernel that waits.
#include "hang.h"

__global__ void wait(Word* flag) {
  while (LOAD(flag) == 0) continue;  // waits
}
__global__ void signal(Word* flag) { STORE(flag, 1); }

int main() {
  Word* flag = make_words(0);
  cudaStream_t first = make_stream(), second = make_stream();
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event));
  wait<<<1, 1, 0, first>>>(flag);
  CHECK(cudaEventRecord(event, first));
  CHECK(cudaStreamWaitEvent(second, event, 0));
  signal<<<1, 1, 0, second>>>(flag);
  wait_for_devices(1);
}
