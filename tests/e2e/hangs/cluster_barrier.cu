// cause: cycle
// One block of a cluster waits at the cluster's barrier, the other for a flag that comes after it.
#include "hang.h"

__global__ void __cluster_dims__(2, 1, 1) split(Word* flag) {
  if (blockIdx.x == 0) {
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");  // waits
    STORE(flag, 1);
  } else {
    while (LOAD(flag) == 0) continue;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
  }
}

int main() {
  split<<<2, 1>>>(make_words(0));
  wait_for_devices(1);
}
