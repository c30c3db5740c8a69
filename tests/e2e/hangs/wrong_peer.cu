// cause: signalled elsewhere
// ranks: 2
// Every rank signals itself instead of its neighbour.
#include "hang.h"

__global__ void barrier(Peers<Word> flags, int rank, int world) {
  const int next = (rank + world) % world;  // should be rank + 1
  const int previous = (rank + world - 1) % world;
  STORE(&flags.of[next][rank], 1);
  while (LOAD(&flags.of[rank][previous]) != 1) continue;  // waits
}

int main() {
  Bootstrap bootstrap;
  Word* mine = make_words(bootstrap.local_rank);
  const PeerBuffers buffers(bootstrap, mine);
  barrier<<<1, 1>>>(buffers.at<Word>(0), bootstrap.rank, bootstrap.world);
  CHECK(cudaDeviceSynchronize());
}
