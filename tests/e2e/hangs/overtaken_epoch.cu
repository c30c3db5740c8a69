// cause: epochs differ
// The signaller goes on to number 2 before number 1 was seen, and the other side waits for exactly 1.
#include "hang.h"

__global__ void post_twice(Word* flag, Word* go) {
  STORE(flag, 1);
  STORE(flag, 2);
  STORE(go, 1);
}
__global__ void wait_exactly(Word* flag, Word* go) {
  while (LOAD(go) == 0) continue;
  while (LOAD(flag) != 1) continue;  // waits
}

int main() {
  connect_two_devices();
  Word* words = make_words(0);
  CHECK(cudaSetDevice(1));
  post_twice<<<1, 1>>>(words, words + 8);
  CHECK(cudaSetDevice(0));
  wait_exactly<<<1, 1>>>(words, words + 8);
  wait_for_devices(2);
}
