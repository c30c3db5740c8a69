// Two-shot all-reduce: reduce-scatter, then all-gather.
//
// Teaches: rank r adds up the r-th slice of all inputs, and pushes the sum into the output of every rank. Each rank
// reads and writes about one message over its links however many ranks there are: right for large messages. Watch out:
// the output of each rank is written by others, so it lies in the shared buffer, and the barrier after the push is what
// makes it complete. Ranks with an empty slice (fewer elements than ranks) still take part.
//
// Run: fabricbench exec --platform h100x8 --ranks 8 examples/11_two_shot_all_reduce.cu [-- elements]
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/block_barrier.h"
#include "common/bootstrap.h"
#include "common/check.h"

constexpr size_t kInputAt = (sizeof(BlockFlags) + 255) / 256 * 256;

__global__ void two_shot(Peers<BlockFlags> flags, Peers<float> inputs, Peers<float> outputs, int n, int rank, int world,
                         unsigned int epoch) {
  // Barriers: all inputs are there, and no rank still reads the output of the call before.
  block_barrier(flags, rank, world, 2 * epoch - 1);

  const int slice = (n + world - 1) / world;
  const int begin = min(rank * slice, n), end = min(begin + slice, n);
  for (int i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int r = 0; r < world; ++r) sum += inputs.of[r][i];
    // Begin with the right neighbour: else all ranks would push to rank 0 first, and then to rank 1, …
    for (int step = 1; step <= world; ++step) outputs.of[(rank + step) % world][i] = sum;
  }

  block_barrier(flags, rank, world, 2 * epoch);  // my output is complete, and my input may change
}

int main(int argc, char** argv) {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));

  const std::vector<int> counts = argc > 1 ? std::vector<int>{std::atoi(argv[1])} : std::vector<int>{20003, 5, 4096};
  const size_t largest = static_cast<size_t>(*std::max_element(counts.begin(), counts.end()));
  const size_t output_at = kInputAt + (largest * sizeof(float) + 255) / 256 * 256;
  char* mine = nullptr;
  CHECK(cudaMalloc(&mine, output_at + largest * sizeof(float)));
  CHECK(cudaMemset(mine, 0, kInputAt));
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    const auto flags = buffers.at<BlockFlags>(0);
    const auto inputs = buffers.at<float>(kInputAt);
    const auto outputs = buffers.at<float>(output_at);
    unsigned int epoch = 0;
    for (const int count : counts) {
      std::vector<float> host(count);
      for (int i = 0; i < count; ++i) host[i] = static_cast<float>((i * 3 + rank * 5) % 256);
      CHECK(cudaMemcpy(inputs.of[rank], host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
      two_shot<<<8, 256>>>(flags, inputs, outputs, count, rank, world, ++epoch);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpy(host.data(), outputs.of[rank], count * sizeof(float), cudaMemcpyDeviceToHost));
      for (int i = 0; i < count; ++i) {
        float expected = 0;
        for (int r = 0; r < world; ++r) expected += static_cast<float>((i * 3 + r * 5) % 256);
        if (host[i] != expected) fail("rank %d: sum %d is %g, expected %g", rank, i, host[i], expected);
      }
    }
  }
  CHECK(cudaFree(mine));
  if (rank == 0) std::printf("OK two-shot all-reduce on %d ranks\n", world);
}
