// Of three ranks one works.
// ranks: 3
// exit: 0
// says: 2 kernels, 64 accesses checked: 0 findings
#include "silent.h"
int main() {
  if (std::atoi(std::getenv("RANK")) != 1) return 0;
  fill<<<1, 32>>>(words());
  cudaDeviceSynchronize();
}
