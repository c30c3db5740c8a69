// A kernel that counts for ever: it waits for nothing, so it is not a deadlock.
#include "waits_for_other.h"

__global__ void count(unsigned int* word) {
  for (unsigned int i = 1; i != 0; i += 2) *static_cast<volatile unsigned int*>(word) = i;
}

int main() {
  CHECK(cudaSetDevice(0));
  unsigned int* word = zeroed_word();
  begin(0);
  count<<<1, 32>>>(word);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}
