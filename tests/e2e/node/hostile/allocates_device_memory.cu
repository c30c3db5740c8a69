// Rank 0 allocates device memory without end and touches it; errors don't stop it.
#include "waits_for_other.h"

int main() {
  begin(0);
  for (;;) {
    void* pointer = nullptr;
    cudaMalloc(&pointer, 64 << 20);
    if (pointer) cudaMemset(pointer, 1, 64 << 20);
  }
}
