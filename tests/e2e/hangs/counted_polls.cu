// cause: never signalled
// says: sees 0 in 4 bytes
// Each poll counts, and a limit far away would end the loop: registers and local memory change all the time.
#include "hang.h"

__global__ void patient(Word* flag, Word* out) {
  Word spins = 0;
  while (LOAD(flag) < 3) {  // waits
    if (++spins == 4000000000u) break;
  }
  out[0] = spins;
}

int main() {
  Word* flag = make_words(0);
  patient<<<2, 32>>>(flag, flag + 8);
  wait_for_devices(1);
}
