// One-shot all-reduce: every rank reads the inputs of all ranks and adds them up itself.
//
// Teaches: the fastest way for small messages: one step, one barrier before it. Each rank reads (world - 1) times the
// message over its links, so for large messages the two-shot way (11_two_shot_all_reduce.cu) moves less.
// Watch out: the second barrier. Without it a fast rank returns and overwrites its input while a slow one still reads
// it. All ranks add in the same order, so that they get the same bits.
//
// Run: fabricbench exec --platform h100x8 --ranks 8 examples/10_one_shot_all_reduce.cu [-- elements]
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/block_barrier.h"
#include "common/bootstrap.h"
#include "common/check.h"

// Each rank's buffer begins with the flags; the input follows.
constexpr size_t kInputAt = (sizeof(BlockFlags) + 255) / 256 * 256;

__global__ void one_shot(Peers<BlockFlags> flags, Peers<float> inputs, float* output, int n, int rank, int world,
                         unsigned int epoch) {
  block_barrier(flags, rank, world, 2 * epoch - 1);  // all inputs are there

  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  for (int i = thread; i < n / 4; i += threads) {
    float4 sum = reinterpret_cast<const float4*>(inputs.of[0])[i];
    for (int r = 1; r < world; ++r) {
      const float4 value = reinterpret_cast<const float4*>(inputs.of[r])[i];
      sum.x += value.x;
      sum.y += value.y;
      sum.z += value.z;
      sum.w += value.w;
    }
    reinterpret_cast<float4*>(output)[i] = sum;
  }
  for (int i = n / 4 * 4 + thread; i < n; i += threads) {
    float sum = 0;
    for (int r = 0; r < world; ++r) sum += inputs.of[r][i];
    output[i] = sum;
  }

  block_barrier(flags, rank, world, 2 * epoch);  // all have read: inputs may change
}

int main(int argc, char** argv) {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  const int count = argc > 1 ? std::atoi(argv[1]) : 20003;
  CHECK(cudaSetDevice(bootstrap.local_rank));

  char* mine = nullptr;
  float* output = nullptr;
  CHECK(cudaMalloc(&mine, kInputAt + count * sizeof(float)));
  CHECK(cudaMalloc(&output, count * sizeof(float)));
  CHECK(cudaMemset(mine, 0, kInputAt));
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    const auto flags = buffers.at<BlockFlags>(0);
    const auto inputs = buffers.at<float>(kInputAt);
    std::vector<float> host(count);
    for (unsigned int epoch = 1; epoch <= 2; ++epoch) {
      for (int i = 0; i < count; ++i) host[i] = static_cast<float>((i + rank * 7 + static_cast<int>(epoch)) % 128);
      CHECK(cudaMemcpy(inputs.of[rank], host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
      one_shot<<<16, 256>>>(flags, inputs, output, count, rank, world, epoch);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpy(host.data(), output, count * sizeof(float), cudaMemcpyDeviceToHost));
      for (int i = 0; i < count; ++i) {
        float expected = 0;
        for (int r = 0; r < world; ++r) expected += static_cast<float>((i + r * 7 + static_cast<int>(epoch)) % 128);
        if (host[i] != expected) fail("rank %d: sum %d is %g, expected %g", rank, i, host[i], expected);
      }
    }
  }
  CHECK(cudaFree(mine));
  CHECK(cudaFree(output));
  if (rank == 0) std::printf("OK one-shot all-reduce of %d floats on %d ranks\n", count, world);
}
