// cause: cycle
// Two devices, each waiting for the other's word before it writes its own.
#include "hang.h"

__global__ void after_you(Word* mine, Word* theirs) {
  while (LOAD(mine) != 1) continue;  // waits
  STORE(theirs, 1);
}

int main() {
  connect_two_devices();
  Word *a = make_words(0), *b = make_words(1);
  CHECK(cudaSetDevice(0));
  after_you<<<1, 32>>>(a, b);
  CHECK(cudaSetDevice(1));
  after_you<<<1, 32>>>(b, a);
  wait_for_devices(2);
}
