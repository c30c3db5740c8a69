// cause: barrier expects too many
// A named barrier is given 96 threads, and two warps use it.
#include "hang.h"

__global__ void pipeline(Word* out) {
  if (threadIdx.x < 64) asm volatile("bar.sync 1, 96;" ::: "memory");  // waits
  __syncthreads();
  out[threadIdx.x] = 1;
}

int main() {
  pipeline<<<1, 128>>>(make_words(0, 128));
  wait_for_devices(1);
}
