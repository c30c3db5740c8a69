// Flags stored at system scope and loaded at device scope.
//
// Shipped: ROCm/aiter, custom all-reduce; repaired by pull request 4786, and seen in 2890 as an accuracy of 0.85 that
// fell to 0.000 in the fourth or fifth run in a row. The writer is another GPU, so the reader's scope does not include
// it: the pair is not morally strong, and the acquire synchronises with nothing.
// Repaired: the load is at system scope too.
//
// class: scope too narrow
// lines: write read
#include "gpus.h"

constexpr int kCount = 256;

__device__ void start_sync(const OnAll<unsigned int>& flags, int gpu, unsigned int epoch) {
  __syncthreads();
  if (threadIdx.x < kGpus) {
    store_release_sys(&flags.of[threadIdx.x][gpu], epoch);
#ifdef REPAIRED
    while (load_acquire_sys(&flags.of[gpu][threadIdx.x]) < epoch) continue;
#else
    while (load_acquire_gpu(&flags.of[gpu][threadIdx.x]) < epoch) continue;
#endif
  }
  __syncthreads();
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
