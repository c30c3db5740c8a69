// One-shot all-reduce of two sizes on N GPUs: each reads the inputs of all others. Prints the bytes of both inputs
// together and the microseconds of each; the links' counters are in the record of the run.
// Usage: one_shot N
#include "shapes.h"

constexpr int kMostBlocks = 256;

__device__ void block_barrier(const OnAll<unsigned int>& flags, int gpu, int gpus, unsigned int epoch) {
  __syncthreads();
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < gpus && peer != gpu) {
    post_flag(&flags.of[peer][blockIdx.x * kMostGpus + gpu], epoch);
    wait_flag(&flags.of[gpu][blockIdx.x * kMostGpus + peer], epoch);
  }
  __syncthreads();
}

__global__ void all_reduce(OnAll<unsigned int> flags, OnAll<float4> inputs, float4* output, int vectors, int gpu,
                           int gpus, unsigned int epoch) {
  block_barrier(flags, gpu, gpus, 2 * epoch - 1);  // all inputs are there
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
    float4 values[kMostGpus] = {};
#pragma unroll
    for (int p = 0; p < kMostGpus; ++p) {
      if (p < gpus) values[p] = __ldcg(inputs.of[p] + i);
    }
    float4 sum = values[0];
#pragma unroll
    for (int p = 1; p < kMostGpus; ++p) {
      sum.x += values[p].x;
      sum.y += values[p].y;
      sum.z += values[p].z;
      sum.w += values[p].w;
    }
    __stcg(output + i, sum);
  }
  block_barrier(flags, gpu, gpus, 2 * epoch);  // all have read
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : kMostGpus;
  Gpus gpus(n);
  constexpr size_t kLargest = 6 * kMiB;
  const auto flags = gpus.on_all<unsigned int>(kMostBlocks * kMostGpus);
  const auto inputs = gpus.on_all<float4>(kLargest / sizeof(float4));
  const auto outputs = gpus.on_all<float4>(kLargest / sizeof(float4));
  const int blocks = std::min(all_blocks(), kMostBlocks);
  size_t sum = 0;
  unsigned int epoch = 0;
  for (const size_t bytes : {2 * kMiB, kLargest}) {
    ++epoch;
    sum += bytes;
    const auto times = gpus.time([&](int gpu, cudaStream_t stream) {
      all_reduce<<<blocks, kThreads / 2, 0, stream>>>(flags, inputs, outputs.of[gpu],
                                                      static_cast<int>(bytes / sizeof(float4)), gpu, n, epoch);
    });
    std::printf("microseconds.%zu %.4f\n", bytes, times.all);
  }
  std::printf("bytes %zu\n", sum);
}
