// cause: missing rank
// ranks: 2
// Rank 1 leaves before its first launch.
#include "hang.h"

__global__ void barrier(Word* mine, Word* theirs) {
  STORE(theirs, 1);
  while (LOAD(mine) != 1) continue;  // waits
}

int main() {
  Bootstrap bootstrap;
  Word* flag = make_words(bootstrap.local_rank);
  const PeerBuffers buffers(bootstrap, flag);
  bootstrap.barrier();
  if (bootstrap.rank == 1) _exit(0);
  barrier<<<1, 1>>>(flag, buffers.at<Word>(0).of[1]);
  CHECK(cudaDeviceSynchronize());
}
