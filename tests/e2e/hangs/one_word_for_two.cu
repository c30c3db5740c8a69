// cause: lost signal
// Two blocks signal with different numbers in one word: the second overwrites the first before it was seen.
#include "hang.h"

__global__ void two_signals(Word* word, Word* go) {
  if (blockIdx.x == 0) {
    STORE(word, 1);
    STORE(&go[0], 1);
  } else if (blockIdx.x == 1) {
    while (LOAD(&go[0]) == 0) continue;
    STORE(word, 2);
    STORE(&go[8], 1);
  } else {
    while (LOAD(&go[8]) == 0) continue;
    while (LOAD(word) != 1) continue;  // waits
  }
}

int main() {
  Word* words = make_words(0);
  two_signals<<<3, 1>>>(words, words + 8);
  wait_for_devices(1);
}
