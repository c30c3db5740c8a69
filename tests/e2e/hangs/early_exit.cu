// cause: early exit
// Blocks without elements return before the barrier of the grid.
#include "hang.h"

__global__ void scan(Word* counter, int elements) {
  if (static_cast<int>(blockIdx.x) * 32 >= elements) return;
  if (threadIdx.x == 0) {
    atomicAdd(counter, 1);
    while (LOAD(counter) < gridDim.x) continue;  // waits
  }
  __syncthreads();
}

int main() {
  Word* counter = make_words(0);
  scan<<<4, 32>>>(counter, 100 - 32);
  wait_for_devices(1);
}
