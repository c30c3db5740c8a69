// All-gather with the flag inside the data: the LL protocol ("low latency").
//
// Teaches: each 4 bytes of payload travel with 4 bytes of flag in one 8-byte store. A store of 8 aligned bytes is never
// seen in halves, so a receiver that sees the flag has the payload too: no fence, no separate flag, one trip over the
// link. The price is twice the bytes; it pays below some tens of kilobytes. Watch out: the accesses must be volatile or
// atomic, else the compiler may read once and loop for ever. A slot may be overwritten only after its reader is done:
// two sets of slots, used in turn, are enough, since no rank can start call e + 2 before it has all data of call e + 1,
// and its senders sent that only after they had read call e.
//
// Run: fabricbench exec --platform h100x8 --ranks 8 examples/14_ll_all_gather.cu
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/bootstrap.h"
#include "common/check.h"
#include "common/peers.h"

// Payload in the lower half, flag in the upper one.
using Line = unsigned long long;

__device__ void store_line(Line* to, unsigned int data, unsigned int flag) {
  *static_cast<volatile Line*>(to) = static_cast<Line>(flag) << 32 | data;
}

__device__ unsigned int load_line(const Line* from, unsigned int flag) {
  Line line;
  do {
    line = *static_cast<const volatile Line*>(from);
  } while (static_cast<unsigned int>(line >> 32) != flag);
  return static_cast<unsigned int>(line);
}

// Slots: [epoch % 2][source rank][n].
__global__ void all_gather(Peers<Line> slots, const unsigned int* input, unsigned int* output, int n, int rank,
                           int world, unsigned int epoch) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  const size_t set = static_cast<size_t>(epoch % 2) * static_cast<size_t>(world) * static_cast<size_t>(n);
  for (int i = thread; i < n; i += threads) {
    const unsigned int value = input[i];
    for (int step = 1; step < world; ++step) {
      const int peer = (rank + step) % world;
      store_line(slots.of[peer] + set + static_cast<size_t>(rank) * n + i, value, epoch);
    }
    output[static_cast<size_t>(rank) * n + i] = value;
  }
  for (int step = 1; step < world; ++step) {
    const size_t source = static_cast<size_t>((rank + step) % world) * n;
    for (int i = thread; i < n; i += threads) output[source + i] = load_line(slots.of[rank] + set + source + i, epoch);
  }
}

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  constexpr int kCount = 1021;
  constexpr unsigned int kCalls = 4;

  const size_t lines = 2 * static_cast<size_t>(world) * kCount, total = static_cast<size_t>(world) * kCount;
  Line* mine = nullptr;
  unsigned int *input = nullptr, *output = nullptr;
  CHECK(cudaMalloc(&mine, lines * sizeof(Line)));
  CHECK(cudaMalloc(&input, kCount * sizeof(unsigned int)));
  CHECK(cudaMalloc(&output, total * sizeof(unsigned int)));
  CHECK(cudaMemset(mine, 0, lines * sizeof(Line)));  // flag 0 is no epoch
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    std::vector<unsigned int> host(kCount), gathered(total);
    for (unsigned int epoch = 1; epoch <= kCalls; ++epoch) {
      for (int i = 0; i < kCount; ++i) host[i] = epoch << 24 | static_cast<unsigned int>(rank) << 16 | i;
      CHECK(cudaMemcpy(input, host.data(), kCount * sizeof(unsigned int), cudaMemcpyHostToDevice));
      all_gather<<<4, 256>>>(buffers.at<Line>(0), input, output, kCount, rank, world, epoch);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpy(gathered.data(), output, total * sizeof(unsigned int), cudaMemcpyDeviceToHost));
      for (size_t i = 0; i < total; ++i) {
        const unsigned int source = static_cast<unsigned int>(i / kCount);
        const unsigned int expected = epoch << 24 | source << 16 | static_cast<unsigned int>(i % kCount);
        if (gathered[i] != expected) fail("rank %d: element %zu is %x, not %x", rank, i, gathered[i], expected);
      }
    }
  }
  CHECK(cudaFree(mine));
  CHECK(cudaFree(input));
  CHECK(cudaFree(output));
  if (rank == 0) std::printf("OK LL all-gather on %d ranks, %u calls\n", world, kCalls);
}
