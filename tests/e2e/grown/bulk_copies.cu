// Tiles that arrive by cp.async.bulk and an mbarrier, in two stages, and leave by a bulk store behind a proxy fence.
//
// class: proxy crossed without fence
// lines: write store
#include <cstdint>

#include "grown.h"

constexpr int kTile = 256, kTiles = 4;  // ints; tiles

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__global__ void scale(const int* in, int* out) {
  __shared__ alignas(128) int tile[2][kTile];
  __shared__ alignas(8) uint64_t full[2];
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : full)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const auto fetch = [&](int k) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full[k % 2])),
                 "r"(static_cast<uint32_t>(kTile * sizeof(int)))
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(tile[k % 2])),
                 "l"(in + k * kTile), "r"(static_cast<uint32_t>(kTile * sizeof(int))), "r"(shared_address(&full[k % 2]))
                 : "memory");
  };
  if (threadIdx.x == 0) fetch(0);
  for (int k = 0; k < kTiles; ++k) {
    if (threadIdx.x == 0 && k + 1 < kTiles) {
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // the other stage has been stored
      fetch(k + 1);
    }
    uint32_t done = 0;
    while (done == 0) {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(shared_address(&full[k % 2])), "r"(static_cast<uint32_t>(k / 2 % 2))
                   : "memory");
    }
    for (int i = static_cast<int>(threadIdx.x); i < kTile; i += static_cast<int>(blockDim.x))
      tile[k % 2][i] *= 2;  // [write]
#ifndef MISTAKE
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + k * kTile),  // [store]
                   "r"(shared_address(tile[k % 2])), "r"(static_cast<uint32_t>(kTile * sizeof(int)))
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

int main() {
  int *in = zeroed<int>(kTile * kTiles), *out = zeroed<int>(kTile * kTiles);
  std::vector<int> host(kTile * kTiles);
  for (int i = 0; i < kTile * kTiles; ++i) host[i] = i;
  CHECK(cudaMemcpy(in, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
  scale<<<1, 64>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  const auto got = read(out, kTile * kTiles);
  for (int i = 0; i < kTile * kTiles; ++i) expect(got[i], 2 * i, "out");
  std::puts("OK tiles by bulk copies");
}
