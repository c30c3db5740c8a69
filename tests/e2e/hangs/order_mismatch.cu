// cause: ranks in different collectives
// ranks: 2
// Rank 0 calls gather and then reduce, rank 1 the other way round.
#include "hang.h"

__device__ void exchange(Word* mine, Word* theirs) {
  STORE(theirs, 1);
  while (LOAD(mine) != 1) continue;  // waits
}
__global__ void gather(Word* mine, Word* theirs) { exchange(mine, theirs); }
__global__ void reduce(Word* mine, Word* theirs) { exchange(mine + 8, theirs + 8); }

int main() {
  Bootstrap bootstrap;
  Word* flags = make_words(bootstrap.local_rank);
  const PeerBuffers buffers(bootstrap, flags);
  Word* theirs = buffers.at<Word>(0).of[1 - bootstrap.rank];
  if (bootstrap.rank == 0) gather<<<1, 1>>>(flags, theirs);
  reduce<<<1, 1>>>(flags, theirs);
  if (bootstrap.rank == 1) gather<<<1, 1>>>(flags, theirs);
  CHECK(cudaDeviceSynchronize());
}
