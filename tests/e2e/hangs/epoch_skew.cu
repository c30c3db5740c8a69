// cause: epochs differ
// ranks: 2
// A barrier with numbers; rank 1 counts its calls from another number.
#include "hang.h"

__global__ void barrier(Word* mine, Word* theirs, Word epoch) {
  STORE(theirs, epoch);
  while (LOAD(mine) != epoch) continue;  // waits
}

int main() {
  Bootstrap bootstrap;
  Word* flag = make_words(bootstrap.local_rank);
  const PeerBuffers buffers(bootstrap, flag);
  Word* theirs = buffers.at<Word>(0).of[1 - bootstrap.rank];
  const Word first = bootstrap.rank == 0 ? 1 : 2;
  for (Word epoch = first; epoch < 5; ++epoch) barrier<<<1, 1>>>(flag, theirs, epoch);
  CHECK(cudaDeviceSynchronize());
}
