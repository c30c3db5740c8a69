// What the programs of this folder share: one process, several GPUs that reach each other's memory, and the words that
// their kernels say to each other. The defects are in the programs, not here.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "../../../examples/common/check.h"

constexpr int kGpus = 4;

// The same array on each GPU; a kernel's parameter.
template <class T>
struct OnAll {
  T* of[kGpus];
};

class Gpus {
 public:
  Gpus() {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      for (int peer = 0; peer < kGpus; ++peer) {
        if (peer != gpu) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
      }
      CHECK(cudaStreamCreateWithFlags(&streams_[gpu], cudaStreamNonBlocking));
    }
  }
  ~Gpus() {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      CHECK(cudaStreamDestroy(streams_[gpu]));
      for (void* array : arrays_[gpu]) CHECK(cudaFree(array));
    }
  }
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  cudaStream_t stream(int gpu) const { return streams_[gpu]; }

  // Zeroed, and known to be zeroed to all when this returns.
  template <class T>
  OnAll<T> array(int count) {
    OnAll<T> arrays{};
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      CHECK(cudaMalloc(&arrays.of[gpu], count * sizeof(T)));
      CHECK(cudaMemset(arrays.of[gpu], 0, count * sizeof(T)));
      arrays_[gpu].push_back(arrays.of[gpu]);
    }
    wait();
    return arrays;
  }

  // Calls launch(gpu, stream) for each GPU, with that GPU current.
  template <class Launch>
  void on_each(Launch launch) const {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      launch(gpu, streams_[gpu]);
      CHECK(cudaGetLastError());
    }
  }

  // Until all GPUs have done all that they were given.
  void wait() const {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      CHECK(cudaDeviceSynchronize());
    }
  }

  template <class T>
  std::vector<T> read(int gpu, const T* array, int count) const {
    std::vector<T> host(static_cast<size_t>(count));
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMemcpy(host.data(), array, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  cudaStream_t streams_[kGpus] = {};
  std::vector<void*> arrays_[kGpus];
};

// What GPU `gpu` contributes to element i of call `call`: exact in float, and different for each.
__host__ __device__ inline float contribution(int gpu, int call, int i) {
  return static_cast<float>((i + 7 * gpu + 31 * call) % 64 + 1);
}

// Ends the program if an output is not the sum of all contributions.
inline void expect_sums(const Gpus& gpus, const OnAll<float>& outputs, int count, int call) {
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    const auto sums = gpus.read(gpu, outputs.of[gpu], count);
    for (int i = 0; i < count; ++i) {
      float expected = 0;
      for (int peer = 0; peer < kGpus; ++peer) expected += contribution(peer, call, i);
      if (sums[i] != expected) fail("GPU %d, call %d: sum %d is %g, expected %g", gpu, call, i, sums[i], expected);
    }
  }
}

// Loads and stores of 4-byte flags as production code writes them.
__device__ inline void store_release_sys(unsigned int* flag, unsigned int value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
__device__ inline unsigned int load_acquire_sys(const unsigned int* flag) {
  unsigned int value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
__device__ inline unsigned int load_acquire_gpu(const unsigned int* flag) {
  unsigned int value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
__device__ inline void store_relaxed_sys(unsigned int* flag, unsigned int value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
__device__ inline unsigned int load_relaxed_sys(const unsigned int* flag) {
  unsigned int value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// A barrier of one block of each GPU that is right: flags.of[g][p] is written by GPU p, in GPU g's memory.
__device__ inline void barrier(const OnAll<unsigned int>& flags, int gpu, unsigned int epoch) {
  __syncthreads();
  if (threadIdx.x < kGpus) {
    store_release_sys(&flags.of[threadIdx.x][gpu], epoch);
    while (load_acquire_sys(&flags.of[gpu][threadIdx.x]) < epoch) continue;
  }
  __syncthreads();
}
