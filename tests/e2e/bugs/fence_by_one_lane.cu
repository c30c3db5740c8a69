// One thread's fence for the stores of all threads.
//
// Shipped: vLLM pull request 50941, an all-reduce over PCIe whose system fence was issued by a single lane; wrong sums
// were seen twice, under heavy disk load, and 4,800 verified collectives passed after the repair. A fence orders the
// accesses that happen before it in its own thread. Here thread 0 fences before __syncthreads() orders the stores of the
// other threads before it, and stores the flag relaxed. Repaired: the thread that stores the flag fences after the
// barrier, so that the fence covers those stores. Stores that the fence precedes in the run are published without any.
//
// class: fence by another thread than the stores
// also: published without release
// lines: write read
#include "gpus.h"

constexpr int kCount = 256;

__device__ void publish(const OnAll<unsigned int>& flags, int gpu, unsigned int epoch) {
#ifdef REPAIRED
  __syncthreads();
  if (threadIdx.x == 0) __threadfence_system();
#else
  if (threadIdx.x == 0) __threadfence_system();
  __syncthreads();
#endif
  if (threadIdx.x == 0) {
    for (int peer = 0; peer < kGpus; ++peer) store_relaxed_sys(&flags.of[peer][gpu], epoch);
  }
}

__global__ void all_gather(OnAll<unsigned int> flags, OnAll<float> gathered, float* output, int gpu, int call) {
  const int i = static_cast<int>(threadIdx.x);
  for (int peer = 0; peer < kGpus; ++peer) {
    gathered.of[peer][gpu * kCount + i] = contribution(gpu, call, i);  // [write]
  }
  publish(flags, gpu, static_cast<unsigned int>(call));
  if (i < kGpus) {
    while (load_acquire_sys(&flags.of[gpu][i]) < static_cast<unsigned int>(call)) continue;
  }
  __syncthreads();
  float sum = 0;
  for (int peer = 0; peer < kGpus; ++peer) sum += gathered.of[gpu][peer * kCount + i];  // [read]
  output[i] = sum;
}

int main() {
  Gpus gpus;
  const auto flags = gpus.array<unsigned int>(kGpus);
  const auto gathered = gpus.array<float>(kGpus * kCount), outputs = gpus.array<float>(kCount);
  for (int call = 1; call <= 2; ++call) {
    gpus.on_each([&](int gpu, cudaStream_t stream) {
      all_gather<<<1, kCount, 0, stream>>>(flags, gathered, outputs.of[gpu], gpu, call);
    });
    gpus.wait();  // no exit barrier: the host keeps the calls apart
    expect_sums(gpus, outputs, kCount, call);
  }
  std::printf("OK all-reduce by all-gather\n");
}
