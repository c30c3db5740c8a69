// Rank 0 waits in a kernel for rank 1, which is killed.
#include <csignal>

#include "waits_for_other.h"

int main() {
  Bootstrap bootstrap;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  unsigned int* word = zeroed_word();
  wait_for_word<<<1, 32>>>(word);
  CHECK(cudaGetLastError());
  bootstrap.barrier();  // the kernels of both are on their way
  if (bootstrap.rank == 1) {
    begin(1);
    std::raise(SIGKILL);
  }
  CHECK(cudaDeviceSynchronize());
}
