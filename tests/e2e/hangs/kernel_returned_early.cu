// cause: early exit
// The kernel that should signal has nothing to do, and returns.
#include "hang.h"

__global__ void produce(Word* flag, int elements) {
  if (elements == 0) return;
  STORE(flag, 1);
}
__global__ void consume(Word* flag) {
  while (LOAD(flag) == 0) continue;  // waits
}

int main() {
  connect_two_devices();
  Word* flag = make_words(0);
  CHECK(cudaSetDevice(1));
  produce<<<1, 1>>>(flag, 0);
  CHECK(cudaSetDevice(0));
  consume<<<1, 1>>>(flag);
  wait_for_devices(2);
}
