// cause: waits for a block that can't be resident
// A barrier of all blocks of a grid that is larger than the device.
#include "hang.h"

__global__ void grid_barrier(Word* counter) {
  if (threadIdx.x == 0) {
    atomicAdd(counter, 1);
    while (LOAD(counter) < gridDim.x) continue;  // waits
  }
  __syncthreads();
}

int main() {
  Word* counter = make_words(0);
  grid_barrier<<<400, 1024>>>(counter);
  wait_for_devices(1);
}
