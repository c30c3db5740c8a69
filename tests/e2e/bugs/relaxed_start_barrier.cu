// A start barrier that is relaxed on both sides, before 16-byte reads of the peers' staged inputs.
//
// Shipped: vLLM issues 57059 and 57182. The kernel stages its input where peers can read it, synchronises with
// relaxed atomics at system scope, and reads theirs: no release covers the stores of the staged data, no acquire covers the
// loads, so that a vector can be read of which some words have arrived and others have not.
// Repaired: release and acquire at the start. The end was right already.
//
// class: published without release
// lines: stage read
#include "gpus.h"

constexpr int kVectors = 128, kCount = 4 * kVectors;

__device__ void barrier_at_start(const OnAll<unsigned int>& flags, int gpu, unsigned int epoch) {
  __syncthreads();
  if (threadIdx.x < kGpus) {
#ifdef REPAIRED
    store_release_sys(&flags.of[threadIdx.x][gpu], epoch);
    while (load_acquire_sys(&flags.of[gpu][threadIdx.x]) < epoch) continue;
#else
    store_relaxed_sys(&flags.of[threadIdx.x][gpu], epoch);
    while (load_relaxed_sys(&flags.of[gpu][threadIdx.x]) < epoch) continue;
#endif
  }
  __syncthreads();
}

__global__ void all_reduce(OnAll<unsigned int> flags, OnAll<float4> staged, const float4* input, float4* output,
                           int gpu, unsigned int epoch) {
  const int i = static_cast<int>(threadIdx.x);
  staged.of[gpu][i] = input[i];  // [stage]
  barrier_at_start(flags, gpu, 2 * epoch - 1);
  float4 sum = {0, 0, 0, 0};
  for (int peer = 0; peer < kGpus; ++peer) {
    const float4 value = staged.of[peer][i];  // [read]
    sum.x += value.x;
    sum.y += value.y;
    sum.z += value.z;
    sum.w += value.w;
  }
  output[i] = sum;
  barrier(flags, gpu, 2 * epoch);
}

__global__ void produce(float* input, int gpu, int call) {
  const int i = static_cast<int>(threadIdx.x);
  input[i] = contribution(gpu, call, i);
}

int main() {
  Gpus gpus;
  const auto flags = gpus.array<unsigned int>(kGpus);
  const auto staged = gpus.array<float4>(kVectors), inputs = gpus.array<float4>(kVectors);
  const auto outputs = gpus.array<float>(kCount);
  for (int call = 1; call <= 2; ++call) {
    gpus.on_each([&](int gpu, cudaStream_t stream) {
      produce<<<1, kCount, 0, stream>>>(reinterpret_cast<float*>(inputs.of[gpu]), gpu, call);
      all_reduce<<<1, kVectors, 0, stream>>>(flags, staged, inputs.of[gpu], reinterpret_cast<float4*>(outputs.of[gpu]),
                                             gpu, static_cast<unsigned int>(call));
    });
  }
  gpus.wait();
  expect_sums(gpus, outputs, kCount, 2);
  std::printf("OK staged one-shot all-reduces\n");
}
