// What the shapes share: the GPUs of one process, how work on several of them is timed, and plain copies by kernels.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "../../../examples/common/check.h"
#include "../../../examples/common/flags.h"

constexpr int kMostGpus = 8;
constexpr int kThreads = 1024;
constexpr int kUnrolled = 4;
constexpr size_t kMiB = size_t{1} << 20;

// The same array on each GPU; a kernel's parameter.
template <class T>
struct OnAll {
  T* of[kMostGpus];
};

// Holds a stream back until the host has enqueued everything that is to begin together.
__global__ void hold_back(long long nanoseconds) {
  long long begin = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

class Gpus {
 public:
  explicit Gpus(int count = kMostGpus) : count(count) {
    for (int gpu = 0; gpu < count; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      for (int peer = 0; peer < count; ++peer) {
        if (peer != gpu) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
      }
      CHECK(cudaStreamCreateWithFlags(&streams_[gpu], cudaStreamNonBlocking));
      CHECK(cudaEventCreate(&begin_[gpu]));
      CHECK(cudaEventCreate(&end_[gpu]));
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaEventCreate(&stop_));
  }
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  const int count;

  // Zeroed, and known to be zeroed to all when this returns. Lives as long as the process.
  template <class T>
  T* allocate(int gpu, size_t elements) {
    T* array = nullptr;
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMalloc(&array, elements * sizeof(T)));
    CHECK(cudaMemset(array, 0, elements * sizeof(T)));
    CHECK(cudaDeviceSynchronize());
    return array;
  }
  template <class T>
  OnAll<T> on_all(size_t elements) {
    OnAll<T> arrays{};
    for (int gpu = 0; gpu < count; ++gpu) arrays.of[gpu] = allocate<T>(gpu, elements);
    return arrays;
  }

  struct Times {
    double all = 0;             // microseconds from the common begin until the last has ended
    double of[kMostGpus] = {};  // and of each GPU's own work
  };
  // Calls work(gpu, stream) for each GPU, with that GPU current; what it enqueues begins on all of them together.
  template <class Work>
  Times time(Work work) {
    for (int gpu = 0; gpu < count; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      if (gpu == 0) {
        hold_back<<<1, 1, 0, streams_[0]>>>(300'000);
      } else {
        CHECK(cudaStreamWaitEvent(streams_[gpu], begin_[0], 0));
      }
      CHECK(cudaEventRecord(begin_[gpu], streams_[gpu]));
      work(gpu, streams_[gpu]);
      CHECK(cudaGetLastError());
      CHECK(cudaEventRecord(end_[gpu], streams_[gpu]));
    }
    CHECK(cudaSetDevice(0));
    for (int gpu = 1; gpu < count; ++gpu) CHECK(cudaStreamWaitEvent(streams_[0], end_[gpu], 0));
    CHECK(cudaEventRecord(stop_, streams_[0]));
    CHECK(cudaEventSynchronize(stop_));
    Times times;
    times.all = elapsed(begin_[0], stop_);
    for (int gpu = 0; gpu < count; ++gpu) times.of[gpu] = elapsed(begin_[gpu], end_[gpu]);
    return times;
  }

 private:
  static double elapsed(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, from, to));
    return 1000.0 * milliseconds;
  }

  cudaStream_t streams_[kMostGpus] = {};
  cudaEvent_t begin_[kMostGpus] = {}, end_[kMostGpus] = {}, stop_ = nullptr;
};

// Sixteen bytes a thread and instruction, grid-stride, four under way. It is a push if `to` is remote, and a pull
// if `from` is.
__device__ inline void copy_share(uint4* to, const uint4* from, size_t vectors, size_t first, size_t stride) {
  for (size_t i = first; i < vectors; i += kUnrolled * stride) {
    uint4 values[kUnrolled];
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) {
      if (i + k * stride < vectors) values[k] = __ldcg(from + i + k * stride);
    }
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) {
      if (i + k * stride < vectors) __stcg(to + i + k * stride, values[k]);
    }
  }
}

__global__ void copy_kernel(uint4* to, const uint4* from, size_t bytes) {
  copy_share(to, from, bytes / sizeof(uint4), size_t{blockIdx.x} * blockDim.x + threadIdx.x,
             size_t{gridDim.x} * blockDim.x);
}

// Blocks enough to fill every link and every memory.
inline int all_blocks() {
  int blocks = 0;
  CHECK(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0));
  return blocks;
}
