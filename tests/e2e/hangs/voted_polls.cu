// cause: never signalled
// says: sees 0 in 4 bytes
// All warps poll together: a block barrier carries the vote, and the polled word changes with every round.
#include "hang.h"

__global__ void together(Word* flags, int count) {
  for (int round = 0;; ++round) {
    const bool set = threadIdx.x != 0 || LOAD(flags + round % count) != 0;  // waits
    if (__syncthreads_and(set)) break;
  }
}

int main() {
  Word* flags = make_words(0);
  together<<<1, 96>>>(flags, 5);
  wait_for_devices(1);
}
