// cause: signalled too early and reset
// Two blocks wait for one signal, and the first to see it resets the flag for the next round.
#include "hang.h"

__global__ void reset_when_seen(Word* flag, Word* go) {
  if (blockIdx.x == 0) {
    STORE(flag, 1);
  } else if (blockIdx.x == 1) {
    while (LOAD(flag) != 1) continue;
    STORE(flag, 0);
    STORE(go, 1);
  } else {
    while (LOAD(go) == 0) continue;  // late, for whatever reason
    while (LOAD(flag) != 1) continue;  // waits
  }
}

int main() {
  Word* words = make_words(0);
  reset_when_seen<<<3, 1>>>(words, words + 8);
  wait_for_devices(1);
}
