// Latency of a barrier of one block on each of 2 … 8 GPUs: each tells each, then waits for each. Microseconds of one
// round, from the difference of many rounds and few.
#include "shapes.h"

__global__ void barriers(OnAll<unsigned int> flags, int gpu, int gpus, unsigned int epoch, unsigned int rounds) {
  const int peer = static_cast<int>(threadIdx.x);
  for (unsigned int round = 1; round <= rounds; ++round) {
    __syncthreads();
    if (peer < gpus && peer != gpu) {
      post_flag(&flags.of[peer][gpu], epoch + round);
      wait_flag(&flags.of[gpu][peer], epoch + round);
    }
    __syncthreads();
  }
}

int main() {
  Gpus gpus(kMostGpus);
  const auto flags = gpus.on_all<unsigned int>(kMostGpus);
  unsigned int epoch = 0;
  for (int n = 2; n <= kMostGpus; ++n) {
    const auto microseconds = [&](unsigned int rounds) {
      const double time = gpus.time([&](int gpu, cudaStream_t stream) {
                                if (gpu < n) barriers<<<1, 32, 0, stream>>>(flags, gpu, n, epoch, rounds);
                              })
                              .all;
      epoch += rounds;
      return time;
    };
    constexpr unsigned int kFew = 5, kMany = 45;
    const double few = microseconds(kFew);
    std::printf("barrier.%d %.4f\n", n, (microseconds(kMany) - few) / (kMany - kFew));
  }
}
