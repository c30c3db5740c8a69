// cause: barrier expects too many
// An mbarrier for 33 arrivals, and 32 threads.
#include "hang.h"

__global__ void phase(Word* out) {
  __shared__ unsigned long long barrier;
  const auto at = static_cast<unsigned int>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 33;" ::"r"(at) : "memory");
  __syncthreads();
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(at) : "memory");
  Word done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"  // waits
                 : "=r"(done)
                 : "r"(at)
                 : "memory");
  }
  out[threadIdx.x] = 1;
}

int main() {
  phase<<<1, 32>>>(make_words(0));
  wait_for_devices(1);
}
