// More blocks stop helping: the rate of a copy by 1, 2, 4, … blocks, pushed to a peer and pulled from one, in GB/s.
#include "shapes.h"

int main() {
  Gpus gpus(2);
  // Of each block: whole iterations of its loop. The time of the launch is the same for both.
  constexpr size_t kIteration = kUnrolled * kThreads * sizeof(uint4), kFew = 2 * kIteration, kMany = 6 * kIteration;
  const int most = all_blocks();
  const size_t vectors = static_cast<size_t>(most) * kMany / sizeof(uint4);
  auto* here = gpus.allocate<uint4>(0, vectors);
  auto* there = gpus.allocate<uint4>(1, vectors);
  const auto rate = [&](uint4* to, const uint4* from, int blocks) {
    const auto microseconds = [&](size_t bytes_each) {
      return gpus
          .time([&](int gpu, cudaStream_t stream) {
            if (gpu == 0) copy_kernel<<<blocks, kThreads, 0, stream>>>(to, from, bytes_each * blocks);
          })
          .of[0];
    };
    const double few = microseconds(kFew);
    return static_cast<double>((kMany - kFew) * blocks) / (microseconds(kMany) - few) / 1000;
  };
  for (int blocks = 1; blocks <= most; blocks = blocks < most ? std::min(2 * blocks, most) : most + 1) {
    std::printf("push.%d %.4f\n", blocks, rate(there, here, blocks));
    std::printf("pull.%d %.4f\n", blocks, rate(here, there, blocks));
  }
}
