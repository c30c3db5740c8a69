// cause: waits for a block that can't be resident
// A kernel that fills the device waits for one on another stream, which finds no room.
#include "hang.h"

__global__ void fill_device(Word* flag) {
  while (LOAD(flag) == 0) continue;  // waits
}
__global__ void signal(Word* flag) { STORE(flag, 1); }

int main() {
  Word* flag = make_words(0);
  fill_device<<<264, 1024, 0, make_stream()>>>(flag);
  signal<<<1, 1024, 0, make_stream()>>>(flag);
  wait_for_devices(1);
}
