// A rank resets its barrier after it has given the others access to it.
//
// Shipped: Apache TVM before pull request 16797. Handles are exchanged first, then each rank clears its own barrier and
// starts its all-reduce. A rank that is ahead signals a rank that has not cleared yet; the signal is wiped out, and the
// late rank waits for ever.
// Repaired, as in #16797: the barrier is cleared, and the device has finished that, before any other rank can reach it.
//
// ranks: 2
// class: unordered write/write
// lines: signal
// deadlock: signalled too early and reset
#include <cuda_runtime.h>

#include <cstdio>

#include "../../examples/common/bootstrap.h"
#include "../../examples/common/check.h"
#include "../../examples/common/peers.h"

constexpr int kCount = 128;

struct Shared {
  unsigned int flags[kMostRanks];  // flags[r] is written by rank r
  float input[kCount];
};

// What a rank does between set-up and its first all-reduce takes as long as it takes.
__global__ void load_weights(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) continue;
}

__global__ void all_reduce(Peers<Shared> shared, float* output, int rank, int world) {
  const int t = static_cast<int>(threadIdx.x);
  shared.of[rank]->input[t] = static_cast<float>(t + rank);
  __syncthreads();
  if (t < world) {
    unsigned int* const theirs = &shared.of[t]->flags[rank];
    unsigned int* const ours = &shared.of[rank]->flags[t];
    unsigned int seen = 0;
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(theirs), "r"(1) : "memory");  // [signal]
    do {
      asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(ours) : "memory");
    } while (seen == 0);
  }
  __syncthreads();
  float sum = 0;
  for (int peer = 0; peer < world; ++peer) sum += shared.of[peer]->input[t];
  output[t] = sum;
}

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  Shared* mine = nullptr;
  float* output = nullptr;
  CHECK(cudaMalloc(&mine, sizeof *mine));
  CHECK(cudaMalloc(&output, kCount * sizeof *output));
#ifdef REPAIRED
  CHECK(cudaMemset(mine, 0, sizeof *mine));
  CHECK(cudaDeviceSynchronize());
#endif
  {
    const PeerBuffers buffers(bootstrap, mine);
    load_weights<<<1, 1>>>(rank * 20000LL);
#ifndef REPAIRED
    CHECK(cudaMemset(mine, 0, sizeof *mine));
#endif
    all_reduce<<<1, kCount>>>(buffers.at<Shared>(0), output, rank, world);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  float sums[kCount];
  CHECK(cudaMemcpy(sums, output, sizeof sums, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) {
    const float expected = static_cast<float>(world * i + world * (world - 1) / 2);
    if (sums[i] != expected) fail("rank %d: sum %d is %g, expected %g", rank, i, sums[i], expected);
  }
  CHECK(cudaFree(mine));
  CHECK(cudaFree(output));
  if (rank == 0) std::printf("OK the first all-reduce of %d ranks\n", world);
}
