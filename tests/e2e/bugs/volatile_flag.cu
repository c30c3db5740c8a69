// A start barrier of `volatile` flags, without a fence.
//
// Shipped: vLLM issue 8404, custom all-reduce's start_sync; repaired by pull request 8558 with release, acquire and
// alternating counters. `volatile` is a relaxed access at system scope: the flag becomes visible, but nothing orders
// the earlier writes before it. The input is written by an earlier kernel of the same stream; its end
// orders it before this kernel on this GPU, and that is all it does.
//
// class: published without release
// lines: write read
#include "gpus.h"

constexpr int kCount = 512, kThreads = 128, kCalls = 3;

// GPU p writes [p] of each.
struct Signal {
  unsigned int start[kGpus], end[kGpus];
};

__device__ void start_sync(const OnAll<Signal>& signals, int gpu, unsigned int epoch) {
  __syncthreads();
  if (threadIdx.x < kGpus) {
    unsigned int* const theirs = &signals.of[threadIdx.x]->start[gpu];
    unsigned int* const ours = &signals.of[gpu]->start[threadIdx.x];
#ifdef REPAIRED
    store_release_sys(theirs, epoch);
    while (load_acquire_sys(ours) != epoch) continue;
#else
    *static_cast<volatile unsigned int*>(theirs) = epoch;
    while (*static_cast<volatile unsigned int*>(ours) != epoch) continue;
#endif
  }
  __syncthreads();
}

__device__ void end_sync(const OnAll<Signal>& signals, int gpu, unsigned int epoch) {
  __syncthreads();
  if (threadIdx.x < kGpus) {
    store_release_sys(&signals.of[threadIdx.x]->end[gpu], epoch);
    while (load_acquire_sys(&signals.of[gpu]->end[threadIdx.x]) != epoch) continue;
  }
  __syncthreads();
}

__global__ void produce(float* input, int gpu, int call) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  input[i] = contribution(gpu, call, i);  // [write]
}

__global__ void all_reduce(OnAll<Signal> signals, OnAll<float> inputs, float* output, int gpu, unsigned int epoch) {
  start_sync(signals, gpu, epoch);
  for (int i = static_cast<int>(threadIdx.x); i < kCount; i += kThreads) {
    float sum = 0;
    for (int peer = 0; peer < kGpus; ++peer) sum += inputs.of[peer][i];  // [read]
    output[i] = sum;
  }
  end_sync(signals, gpu, epoch);
}

int main() {
  Gpus gpus;
  const auto signals = gpus.array<Signal>(1);
  const auto inputs = gpus.array<float>(kCount), outputs = gpus.array<float>(kCount);
  for (int call = 1; call <= kCalls; ++call) {
    gpus.on_each([&](int gpu, cudaStream_t stream) {
      produce<<<kCount / kThreads, kThreads, 0, stream>>>(inputs.of[gpu], gpu, call);
      all_reduce<<<1, kThreads, 0, stream>>>(signals, inputs, outputs.of[gpu], gpu, static_cast<unsigned int>(call));
    });
  }
  gpus.wait();
  expect_sums(gpus, outputs, kCount, kCalls);
  std::printf("OK %d one-shot all-reduces back to back\n", kCalls);
}
