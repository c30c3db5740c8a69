// cause: lost signal
// Two blocks count with a load and a store each: both read 0, both store 1, and 2 never comes.
#include "hang.h"

__global__ void count(Word* counter, Word* ready) {
  if (blockIdx.x == 2) {
    while (LOAD(counter) != 2) continue;  // waits
    return;
  }
  const Word before = LOAD(counter);
  STORE(&ready[blockIdx.x], 1);
  while (LOAD(&ready[1 - blockIdx.x]) == 0) continue;
  STORE(counter, before + 1);
}

int main() {
  Word* words = make_words(0);
  count<<<3, 1>>>(words, words + 8);
  wait_for_devices(1);
}
