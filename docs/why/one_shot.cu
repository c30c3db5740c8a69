// The all-reduce of docs/guide/why_is_my_all_reduce_wrong.md. -DFAILURE=1 … 5 makes one of its mistakes; without it, the
// program is correct.
#include <cuda_runtime.h>

#include <cstdio>
#include <cuda/atomic>
#include <vector>

#include "../../examples/common/bootstrap.h"
#include "../../examples/common/check.h"
#include "../../examples/common/peers.h"

#ifndef FAILURE
#define FAILURE 0
#endif

constexpr int kCount = 256, kCalls = 3;

// [buffer]
struct Buffer {
  unsigned int flags[kMostRanks];  // flags[r] is written by rank r
  float input[kCount];
};
// [/buffer]

// [barrier]
#if FAILURE == 3
using Flag = cuda::atomic_ref<unsigned int, cuda::thread_scope_device>;
#else
using Flag = cuda::atomic_ref<unsigned int, cuda::thread_scope_system>;
#endif

__device__ void barrier(const Peers<Buffer>& buffers, int rank, int world, unsigned int epoch) {
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < world) {
    Flag theirs(buffers.of[threadIdx.x]->flags[rank]), mine(buffers.of[rank]->flags[threadIdx.x]);
#if FAILURE == 1
    theirs.store(epoch, cuda::memory_order_relaxed);
#else
    theirs.store(epoch, cuda::memory_order_release);
#endif
#if FAILURE == 2
    while (mine.load(cuda::memory_order_relaxed) < epoch) continue;
#elif FAILURE == 5
    while (mine.load(cuda::memory_order_acquire) != epoch) continue;
#else
    while (mine.load(cuda::memory_order_acquire) < epoch) continue;
#endif
  }
  __syncthreads();
}
// [/barrier]

// [kernels]
__global__ void fill(float* input, int rank, int call) {
  input[threadIdx.x] = static_cast<float>(threadIdx.x % 32 + rank + call);
}

__global__ void all_reduce(Peers<Buffer> buffers, float* output, int rank, int world, unsigned int call) {
  barrier(buffers, rank, world, 2 * call - 1);  // all inputs are there
  float sum = 0;
  for (int peer = 0; peer < world; ++peer) sum += buffers.of[peer]->input[threadIdx.x];
  output[threadIdx.x] = sum;
#if FAILURE != 4
  barrier(buffers, rank, world, 2 * call);  // all have read
#endif
}
// [/kernels]

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  Buffer* mine = nullptr;
  float* outputs = nullptr;
  CHECK(cudaMalloc(&mine, sizeof *mine));
  CHECK(cudaMalloc(&outputs, kCalls * kCount * sizeof *outputs));
  CHECK(cudaMemset(mine, 0, sizeof *mine));
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    // [calls]
    for (int call = 1; call <= kCalls; ++call) {
      fill<<<1, kCount>>>(mine->input, rank, call);
      all_reduce<<<1, kCount>>>(buffers.at<Buffer>(0), outputs + (call - 1) * kCount, rank, world, call);
    }
    // [/calls]
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  std::vector<float> sums(kCalls * kCount);
  CHECK(cudaMemcpy(sums.data(), outputs, sums.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCalls * kCount; ++i) {
    const int call = i / kCount + 1;
    const float expected = static_cast<float>(world * (i % 32 + call) + world * (world - 1) / 2);
    if (sums[i] != expected)
      fail("rank %d, call %d: sum %d is %g, expected %g", rank, call, i % kCount, sums[i], expected);
  }
  CHECK(cudaFree(mine));
  CHECK(cudaFree(outputs));
  if (rank == 0) std::printf("OK %d all-reduces of %d floats on %d ranks\n", kCalls, kCount, world);
}
