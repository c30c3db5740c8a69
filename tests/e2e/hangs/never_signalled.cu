// cause: never signalled
// The signal was forgotten.
#include "hang.h"

__global__ void forgotten(Word* flag) {
  while (LOAD(flag) != 5) continue;  // waits
}

int main() {
  Word* flag = make_words(0);
  forgotten<<<1, 1>>>(flag);
  wait_for_devices(1);
}
