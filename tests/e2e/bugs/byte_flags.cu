// Byte-wide flags of several GPUs in one 8-byte word.
//
// Shipped: vLLM, custom all-reduce before pull request 2760. Each GPU stored its own byte of the peers' 8-byte start
// signal; the peer polled the whole word. Two accesses that overlap without being the same bytes are never morally
// strong, whatever their order and scope: the word is a data race, and nothing is published by it.
// Repaired, as in #2760: a 4-byte flag for each GPU, stored and polled by accesses of the same size.
//
// class: mixed-size flag access
// lines: store load
#include <cstdint>

#include "gpus.h"

constexpr int kCount = 256;

union Signal {
  uint64_t word;
  unsigned char bytes[8];
  unsigned int flags[kGpus];
};

__device__ void start_sync(const OnAll<Signal>& signals, int gpu, unsigned int epoch) {
  __syncthreads();
#ifdef REPAIRED
  if (threadIdx.x < kGpus) {
    store_release_sys(&signals.of[threadIdx.x]->flags[gpu], epoch);
    while (load_acquire_sys(&signals.of[gpu]->flags[threadIdx.x]) < epoch) continue;
  }
#else
  if (threadIdx.x < kGpus) {
    unsigned char* const byte = &signals.of[threadIdx.x]->bytes[gpu];
    asm volatile("st.release.sys.global.u8 [%0], %1;" ::"l"(byte), "r"(epoch) : "memory");  // [store]
  }
  if (threadIdx.x == 0) {
    uint64_t all = 0, word = 0;
    for (int peer = 0; peer < kGpus; ++peer) all |= static_cast<uint64_t>(epoch) << (8 * peer);
    const uint64_t* const polled = &signals.of[gpu]->word;
    do {
      asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(polled) : "memory");  // [load]
    } while (word != all);
  }
#endif
  __syncthreads();
}

__global__ void all_reduce(OnAll<Signal> signals, OnAll<float> inputs, float* output, int gpu, int call) {
  const int i = static_cast<int>(threadIdx.x);
  inputs.of[gpu][i] = contribution(gpu, call, i);
  start_sync(signals, gpu, static_cast<unsigned int>(call));
  float sum = 0;
  for (int peer = 0; peer < kGpus; ++peer) sum += inputs.of[peer][i];
  output[i] = sum;
}

int main() {
  Gpus gpus;
  const auto signals = gpus.array<Signal>(1);
  const auto inputs = gpus.array<float>(kCount), outputs = gpus.array<float>(kCount);
  for (int call = 1; call <= 2; ++call) {
    gpus.on_each([&](int gpu, cudaStream_t stream) {
      all_reduce<<<1, kCount, 0, stream>>>(signals, inputs, outputs.of[gpu], gpu, call);
    });
    gpus.wait();  // no exit barrier: the host keeps the calls apart
    expect_sums(gpus, outputs, kCount, call);
  }
  std::printf("OK one-shot all-reduce with a start signal\n");
}
