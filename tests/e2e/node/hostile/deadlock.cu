// Two ranks, each waiting for the other's word before it writes its own.
#include "waits_for_other.h"

__global__ void after_you(unsigned int* mine, unsigned int* theirs) {
  wait_flag(mine, 1);
  post_flag(theirs, 1);
}

int main() {
  Bootstrap bootstrap;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  unsigned int* word = zeroed_word();
  {
    const PeerBuffers buffers(bootstrap, word);
    const auto words = buffers.at<unsigned int>(0);
    if (bootstrap.rank == 0) begin(0);
    after_you<<<1, 32>>>(word, words.of[(bootstrap.rank + 1) % bootstrap.world]);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
}
