// cause: missing rank
// ranks: 3
// Rank 2 has nothing to do in the second call and leaves; the others wait for its flag.
#include "hang.h"

__global__ void barrier(Peers<Word> flags, int rank, int world, Word epoch) {
  const int peer = static_cast<int>(threadIdx.x);
  if (peer >= world) return;
  STORE(&flags.of[peer][rank], epoch);
  while (LOAD(&flags.of[rank][peer]) < epoch) continue;  // waits
}

int main() {
  Bootstrap bootstrap;
  Word* mine = make_words(bootstrap.local_rank);
  const PeerBuffers buffers(bootstrap, mine);
  for (Word call = 1; call < 4; ++call) {
    if (bootstrap.rank == 2 && call == 2) break;
    barrier<<<1, 32>>>(buffers.at<Word>(0), bootstrap.rank, bootstrap.world, call);
    CHECK(cudaDeviceSynchronize());
  }
  if (bootstrap.rank == 2) _exit(0);
}
