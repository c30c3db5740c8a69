// Blocks of a cluster add to counters in their neighbour's shared memory with red.async, counted by its mbarrier.
//
// class: unordered
// also: intra-warp conflict, proxy crossed without fence
// lines: clear
#include <cooperative_groups.h>

#include <cstdint>

#include "grown.h"

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) neighbours(int* out) {
  __shared__ int sum;
  __shared__ alignas(8) uint64_t arrived;
  const auto cluster = cg::this_cluster();
  const auto own = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
  if (threadIdx.x == 0) {
    sum = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(own(&arrived)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");  // `sum` is cleared before asynchronous reductions
  }
  cluster.sync();
  const uint32_t peer = cluster.block_rank() ^ 1;
  uint32_t their_sum, their_barrier;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(their_sum) : "r"(own(&sum)), "r"(peer));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(their_barrier) : "r"(own(&arrived)), "r"(peer));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(own(&arrived)),
                 "r"(static_cast<uint32_t>(blockDim.x * sizeof(int)))
                 : "memory");
  }
#ifdef MISTAKE
  if (threadIdx.x == 1) sum = 0;  // [clear]
#endif
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(their_sum),
      "r"(threadIdx.x), "r"(their_barrier)
      : "memory");
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(own(&arrived))
        : "memory");
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
  cluster.sync();
}

int main() {
  constexpr int kThreads = 32;
  int* out = zeroed<int>(2);
  neighbours<<<2, kThreads>>>(out);
  CHECK(cudaDeviceSynchronize());
#ifndef MISTAKE
  for (const int sum : read(out, 2)) expect(sum, kThreads * (kThreads - 1) / 2, "sum");
#endif
  std::puts("OK counters of neighbours");
}
