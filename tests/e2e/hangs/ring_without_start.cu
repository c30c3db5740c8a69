// cause: cycle
// ranks: 3
// A ring in which every rank receives before it sends.
#include "hang.h"

__global__ void pass_on(Word* mine, Word* next) {
  for (Word step = 1; step < 3; ++step) {
    while (LOAD(mine) < step) continue;  // waits
    STORE(next, step);
  }
}

int main() {
  Bootstrap bootstrap;
  Word* flag = make_words(bootstrap.local_rank);
  const PeerBuffers buffers(bootstrap, flag);
  pass_on<<<1, 1>>>(flag, buffers.at<Word>(0).of[(bootstrap.rank + 1) % bootstrap.world]);
  CHECK(cudaDeviceSynchronize());
}
