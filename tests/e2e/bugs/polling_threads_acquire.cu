// Only the threads that poll acquire; the other threads of the block read the data.
//
// Shipped: ROCm/aiter, issue 2890. Polling is relaxed, then comes __syncthreads(), and the fence that would turn the
// polling into an acquire is executed by the polling threads alone, after the barrier. The barrier orders what was
// acquired before it, and nothing had been: all other threads may read older data. Repaired: the polling threads fence
// before the barrier, which then orders the whole block.
//
// class: read without acquire
// lines: write read
#include "gpus.h"

constexpr int kCount = 256;

__device__ void start_sync(const OnAll<unsigned int>& flags, int gpu, unsigned int epoch) {
  __syncthreads();
  const bool polls = threadIdx.x < kGpus;
  if (polls) {
    store_release_sys(&flags.of[threadIdx.x][gpu], epoch);
    while (load_relaxed_sys(&flags.of[gpu][threadIdx.x]) < epoch) continue;
  }
#ifdef REPAIRED
  if (polls) __threadfence_system();
  __syncthreads();
#else
  __syncthreads();
  if (polls) __threadfence_system();
#endif
}

__global__ void all_reduce(OnAll<unsigned int> flags, OnAll<float> inputs, float* output, int gpu, int call) {
  const int i = static_cast<int>(threadIdx.x);
  inputs.of[gpu][i] = contribution(gpu, call, i);  // [write]
  start_sync(flags, gpu, static_cast<unsigned int>(call));
  float sum = 0;
  for (int peer = 0; peer < kGpus; ++peer) sum += inputs.of[peer][i];  // [read]
  output[i] = sum;
}

int main() {
  Gpus gpus;
  const auto flags = gpus.array<unsigned int>(kGpus);
  const auto inputs = gpus.array<float>(kCount), outputs = gpus.array<float>(kCount);
  for (int call = 1; call <= 2; ++call) {
    gpus.on_each([&](int gpu, cudaStream_t stream) {
      all_reduce<<<1, kCount, 0, stream>>>(flags, inputs, outputs.of[gpu], gpu, call);
    });
    gpus.wait();  // no exit barrier: the host keeps the calls apart
    expect_sums(gpus, outputs, kCount, call);
  }
  std::printf("OK one-shot all-reduce with a start barrier\n");
}
