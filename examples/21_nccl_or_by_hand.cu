// The same all-reduce by NCCL and by a kernel of one's own, at several sizes.
//
// Teaches: what a library costs and what it is good for. One kernel in which every rank reads all inputs (one shot) has
// one barrier before it and one behind it: at some KiB it beats NCCL, which starts a general kernel and goes around a
// ring. It moves (world - 1) times the message into every rank, though, where NCCL moves twice the message or lets the
// switch add: at some MiB NCCL wins.
// Watch out: the first call of a size may connect ranks, so it is not timed. The times of all ranks differ; the longest
// counts. A sum in another order may differ in its last bits: these inputs are small whole numbers.
//
// Run: fabricbench exec --platform h100x8 --ranks 8 examples/21_nccl_or_by_hand.cu -lnccl
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/block_barrier.h"
#include "common/bootstrap.h"
#include "common/check.h"
#include "common/communicator.h"

constexpr size_t kInputAt = (sizeof(BlockFlags) + 255) / 256 * 256;
constexpr int kBlocks = 32, kAtOnce = 8;

__global__ void one_shot(Peers<BlockFlags> flags, Peers<float> inputs, float4* output, int n, int rank, int world,
                         unsigned int epoch) {
  block_barrier(flags, rank, world, 2 * epoch - 1);  // all inputs are there
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    float4 sum = {};
    // Several loads are under way at once: one after the other, each would take its way over the link.
    for (int first = 0; first < world; first += kAtOnce) {
      float4 value[kAtOnce] = {};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k < world) value[k] = reinterpret_cast<const float4*>(inputs.of[first + k])[i];
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        sum.x += value[k].x;
        sum.y += value[k].y;
        sum.z += value[k].z;
        sum.w += value[k].w;
      }
    }
    output[i] = sum;
  }
  block_barrier(flags, rank, world, 2 * epoch);  // all have read: inputs may change
}

// Microseconds of the slowest rank.
template <class F>
float longest(Bootstrap& bootstrap, cudaStream_t stream, F work) {
  cudaEvent_t begin = nullptr, end = nullptr;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaStreamSynchronize(stream));
  bootstrap.barrier();
  CHECK(cudaEventRecord(begin, stream));
  work();
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  const auto all = bootstrap.all_gather(milliseconds);
  return 1000 * *std::max_element(all.begin(), all.end());
}

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  const Communicator comm(bootstrap);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  constexpr int kSizes[] = {1 << 12, 1 << 16, 1 << 20};  // elements
  constexpr int kMost = 1 << 20;
  char* mine = nullptr;
  float* output = nullptr;
  CHECK(cudaMalloc(&mine, kInputAt + kMost * sizeof(float)));
  CHECK(cudaMalloc(&output, kMost * sizeof(float)));
  CHECK(cudaMemset(mine, 0, kInputAt));
  std::vector<float> host(kMost);
  for (int i = 0; i < kMost; ++i) host[i] = static_cast<float>((i + rank * 7) % 128);
  CHECK(cudaMemcpy(mine + kInputAt, host.data(), kMost * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    const auto flags = buffers.at<BlockFlags>(0);
    const auto inputs = buffers.at<float>(kInputAt);
    unsigned int epoch = 0;
    const auto check = [&](const char* how, int count) {
      CHECK(cudaMemcpyAsync(host.data(), output, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
      CHECK(cudaMemsetAsync(output, 0, count * sizeof(float), stream));
      CHECK(cudaStreamSynchronize(stream));
      for (int i = 0; i < count; ++i) {
        float expected = 0;
        for (int r = 0; r < world; ++r) expected += static_cast<float>((i + r * 7) % 128);
        if (host[i] != expected) fail("rank %d, %s: sum %d is %g, expected %g", rank, how, i, host[i], expected);
      }
    };
    for (const int count : kSizes) {
      const auto by_hand = [&] {
        one_shot<<<kBlocks, 256, 0, stream>>>(flags, inputs, reinterpret_cast<float4*>(output), count, rank, world,
                                              ++epoch);
        CHECK(cudaGetLastError());
      };
      const auto by_nccl = [&] {
        CHECK_NCCL(ncclAllReduce(inputs.of[rank], output, count, ncclFloat, ncclSum, comm, stream));
      };
      by_hand();
      const float hand = longest(bootstrap, stream, by_hand);
      check("by hand", count);
      by_nccl();
      const float nccl = longest(bootstrap, stream, by_nccl);
      check("by NCCL", count);
      if (rank == 0) std::printf("%8zu bytes: one shot %8.1f us, NCCL %8.1f us\n", count * sizeof(float), hand, nccl);
    }
  }
  CHECK(cudaFree(mine));
  CHECK(cudaFree(output));
  CHECK(cudaStreamDestroy(stream));
  if (rank == 0) std::printf("OK all-reduce by NCCL and by hand on %d ranks\n", world);
}
