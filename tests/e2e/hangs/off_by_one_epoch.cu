// cause: epochs differ
// The waiting side expects the number of the next round.
#include "hang.h"

__global__ void post(Word* flag, Word epoch) { STORE(flag, epoch); }
__global__ void wait(Word* flag, Word epoch) {
  while (LOAD(flag) < epoch + 1) continue;  // waits
}

int main() {
  connect_two_devices();
  Word* flag = make_words(0);
  for (Word epoch = 1; epoch < 3; ++epoch) {
    CHECK(cudaSetDevice(1));
    post<<<1, 1>>>(flag, epoch);
    CHECK(cudaSetDevice(0));
    wait<<<1, 1>>>(flag, epoch);
  }
  wait_for_devices(2);
}
