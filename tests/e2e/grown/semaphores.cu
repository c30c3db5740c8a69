// Semaphores between two GPUs, as channels have them: signal is an atomic add with release on the peer's counter,
// wait polls relaxed and then fences.
//
// class: scope too narrow
// lines: write read
#include <cuda/atomic>

#include "grown.h"

constexpr int kThreads = 64, kRounds = 3;
struct Side {
  unsigned int inbound;
  int data[kThreads];
};
struct Sides {
  Side* of[2];
};
using Counter = cuda::atomic_ref<unsigned int, cuda::thread_scope_system>;
#ifdef MISTAKE
using Signal = cuda::atomic_ref<unsigned int, cuda::thread_scope_device>;
#else
using Signal = Counter;
#endif

__device__ void signal(Side* peer) { Signal(peer->inbound).fetch_add(1, cuda::memory_order_release); }
__device__ void wait(Side* mine, unsigned int expected) {
  while (Counter(mine->inbound).load(cuda::memory_order_relaxed) < expected) continue;
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_system);
}

__global__ void exchange(Sides sides, int gpu, int* out) {
  Side *mine = sides.of[gpu], *peer = sides.of[1 - gpu];
  for (unsigned int round = 1; round <= kRounds; ++round) {
    peer->data[threadIdx.x] = static_cast<int>((gpu + 1) * 100000 + round * 1000 + threadIdx.x);  // [write]
    __syncthreads();
    if (threadIdx.x == 0) {
      signal(peer);
      wait(mine, 2 * round - 1);
    }
    __syncthreads();
    out[threadIdx.x] = mine->data[threadIdx.x];  // [read]
    __syncthreads();
    if (threadIdx.x == 0) {
      signal(peer);
      wait(mine, 2 * round);
    }
    __syncthreads();
  }
}

int main() {
  Sides sides{};
  int* out[2];
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
    sides.of[gpu] = zeroed<Side>(1);
    out[gpu] = zeroed<int>(kThreads);
  }
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    exchange<<<1, kThreads>>>(sides, gpu, out[gpu]);
  }
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaDeviceSynchronize());
  }
#ifndef MISTAKE
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    const auto got = read(out[gpu], kThreads);
    for (int i = 0; i < kThreads; ++i) expect(got[i], (2 - gpu) * 100000 + kRounds * 1000 + i, "out");
  }
#endif
  std::puts("OK semaphores between two GPUs");
}
