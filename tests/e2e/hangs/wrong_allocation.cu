// cause: signalled elsewhere
// The signal goes to the buffer of the call before.
#include "hang.h"

__global__ void post(Word* flag) { STORE(flag, 1); }
__global__ void wait(Word* flag) {
  while (LOAD(flag) != 1) continue;  // waits
}

int main() {
  connect_two_devices();
  Word *before = make_words(0), *now = make_words(0);
  CHECK(cudaSetDevice(1));
  post<<<1, 1>>>(before);
  CHECK(cudaSetDevice(0));
  wait<<<1, 1>>>(now);
  wait_for_devices(2);
}
