// Ring all-reduce: each rank sends to its right neighbour only.
//
// Teaches: the message is cut into `world` chunks. In each of world - 1 steps a rank sends one chunk to the right and
// adds the chunk that came from the left; then in world - 1 more steps the finished chunks travel around once. Every
// link is busy in every step, and needs no all-to-all wiring; but the number of steps grows with the ranks. Watch out:
// two kinds of flags. `arrived` tells the receiver that a step's data is in its inbox; `emptied` is the credit that
// tells the sender it may fill the inbox again in the next call. Forgetting credits is the classic bug of rings.
//
// Run: fabricbench exec --platform h100x8 --ranks 4 examples/12_ring_all_reduce.cu [-- elements]
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/bootstrap.h"
#include "common/check.h"
#include "common/flags.h"
#include "common/peers.h"

constexpr int kBlocks = 4;
constexpr int kMostSteps = 2 * (kMostRanks - 1);

// Written by the neighbours, once for each block: block b of all ranks moves the b-th share of each chunk.
struct RingFlags {
  unsigned int arrived[kMostSteps][kBlocks];  // by the left neighbour
  unsigned int emptied[kBlocks];              // by the right neighbour
};
constexpr size_t kInboxAt = (sizeof(RingFlags) + 255) / 256 * 256;

struct Ring {
  RingFlags *left_flags, *my_flags, *right_flags;
  float *my_inbox, *right_inbox;  // a slot of `chunk` elements for each step
  int rank, world;
};

__global__ void ring_all_reduce(Ring ring, float* data, int n, int chunk, unsigned int epoch) {
  const int block = static_cast<int>(blockIdx.x), world = ring.world;
  const int first = block * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  if (threadIdx.x == 0) wait_flag(&ring.my_flags->emptied[block], epoch - 1);
  __syncthreads();

  for (int step = 0; step < 2 * (world - 1); ++step) {
    const int send = (ring.rank - step + 2 * world) % world * chunk;
    const int receive = (ring.rank - step - 1 + 2 * world) % world * chunk;
    float* const outgoing = ring.right_inbox + static_cast<size_t>(step) * chunk;
    const float* const incoming = ring.my_inbox + static_cast<size_t>(step) * chunk;

    for (int i = first; i < chunk && send + i < n; i += stride) outgoing[i] = data[send + i];
    __syncthreads();
    if (threadIdx.x == 0) {
      post_flag(&ring.right_flags->arrived[step][block], epoch);
      wait_flag(&ring.my_flags->arrived[step][block], epoch);
    }
    __syncthreads();
    // The same thread sends element i of this chunk in the next step: no barrier is needed for that.
    const bool reducing = step < world - 1;
    for (int i = first; i < chunk && receive + i < n; i += stride) {
      data[receive + i] = reducing ? data[receive + i] + incoming[i] : incoming[i];
    }
  }

  __syncthreads();
  if (threadIdx.x == 0) post_flag(&ring.left_flags->emptied[block], epoch);
}

int main(int argc, char** argv) {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  const int count = argc > 1 ? std::atoi(argv[1]) : 10007;
  const int chunk = (count + world - 1) / world;
  CHECK(cudaSetDevice(bootstrap.local_rank));

  char* mine = nullptr;
  float* data = nullptr;
  CHECK(cudaMalloc(&mine, kInboxAt + 2 * static_cast<size_t>(world) * chunk * sizeof(float)));
  CHECK(cudaMalloc(&data, count * sizeof(float)));
  CHECK(cudaMemset(mine, 0, kInboxAt));
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    const auto flags = buffers.at<RingFlags>(0);
    const auto inboxes = buffers.at<float>(kInboxAt);
    const int left = (rank + world - 1) % world, right = (rank + 1) % world;
    const Ring ring{flags.of[left], flags.of[rank], flags.of[right], inboxes.of[rank], inboxes.of[right], rank, world};

    std::vector<float> host(count);
    for (int i = 0; i < count; ++i) host[i] = static_cast<float>((i + rank * 11) % 64);
    CHECK(cudaMemcpy(data, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    // Three calls in a row: the sum of the sums of the sums.
    constexpr int kCalls = 3;
    for (unsigned int epoch = 1; epoch <= kCalls; ++epoch) {
      ring_all_reduce<<<kBlocks, 256>>>(ring, data, count, chunk, epoch);
      CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpy(host.data(), data, count * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; ++i) {
      float expected = 0;
      for (int r = 0; r < world; ++r) expected += static_cast<float>((i + r * 11) % 64);
      for (int call = 1; call < kCalls; ++call) expected *= static_cast<float>(world);
      if (host[i] != expected) fail("rank %d: sum %d is %g, expected %g", rank, i, host[i], expected);
    }
  }
  CHECK(cudaFree(mine));
  CHECK(cudaFree(data));
  if (rank == 0) std::printf("OK ring all-reduce of %d floats on %d ranks\n", count, world);
}
