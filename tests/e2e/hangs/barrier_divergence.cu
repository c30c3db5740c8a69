// cause: barrier divergence
// Two warps of a block at different barriers.
#include "hang.h"

__global__ void diverge(Word* out) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1;" ::: "memory");  // waits
  } else {
    asm volatile("bar.sync 2;" ::: "memory");
  }
  out[threadIdx.x] = 1;
}

int main() {
  diverge<<<1, 64>>>(make_words(0, 64));
  wait_for_devices(1);
}
