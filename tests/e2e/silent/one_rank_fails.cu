// Only the second of two ranks.
// ranks: 2
// exit: 1
// says: launch: rank 1: the launch of kernel fill(int*)
// says: 1 kernel, 32 accesses checked: 1 finding
// ignoring: 0
#include "silent.h"
int main() {
  const int rank = std::atoi(std::getenv("RANK"));
  fill<<<1, rank == 0 ? 32 : 4096>>>(words());
  cudaDeviceSynchronize();
}
