// cause: waits for later work of its stream
// The waiting kernel precedes the signalling one on the same stream.
#include "hang.h"

__global__ void wait(Word* flag) {
  while (LOAD(flag) == 0) continue;  // waits
}
__global__ void signal(Word* flag) { STORE(flag, 1); }

int main() {
  Word* flag = make_words(0);
  wait<<<1, 1>>>(flag);
  signal<<<1, 1>>>(flag);
  wait_for_devices(1);
}
