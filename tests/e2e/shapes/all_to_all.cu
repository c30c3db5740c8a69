// All-to-all is bounded by what enters a GPU. For 2 … 8 GPUs, each of which sends the same number of bytes in all:
//   one.N       one GPU alone sends to one other
//   balanced.N  each sends an equal share to each other
//   skewed.N    all but GPU 0 send everything to GPU 0
// Microseconds beyond those of half as many bytes, so that launches and latencies do not count.
#include "shapes.h"

// Shares of bytes[0 …): block b looks after every gridDim.x-th piece of each share. A GPU begins with the one after it,
// so that no rank is the first target of all.
__global__ void scatter(OnAll<uint4> to, const uint4* from, size_t vectors_each, int gpu, int gpus) {
  for (int k = 1; k < gpus; ++k) {
    const int peer = (gpu + k) % gpus;
    copy_share(to.of[peer] + gpu * vectors_each, from + peer * vectors_each, vectors_each,
               size_t{blockIdx.x} * blockDim.x + threadIdx.x, size_t{gridDim.x} * blockDim.x);
  }
}

int main() {
  // Enough blocks to fill a link, and shares that are whole iterations of their loops.
  constexpr int kBlocks = 32, kBlockThreads = 512;
  constexpr size_t kIteration = kBlocks * kBlockThreads * kUnrolled;
  Gpus gpus(kMostGpus);
  // Each sender has its own range in the receiver's array.
  constexpr size_t kMostIterations = 16;
  const auto sent = gpus.on_all<uint4>(2 * kMostIterations * kIteration);
  const auto received = gpus.on_all<uint4>(kMostGpus * kMostIterations * kIteration);
  for (const int n : {2, 3, 5, 8}) {
    const auto peers = static_cast<size_t>(n - 1);
    const auto push = [&](int gpu, int peer, size_t vectors, cudaStream_t stream) {
      uint4* const to = received.of[peer] + static_cast<size_t>(gpu) * vectors;
      copy_kernel<<<kBlocks, kBlockThreads, 0, stream>>>(to, sent.of[gpu], vectors * sizeof(uint4));
    };
    // enqueue(gpu, stream, vectors that a GPU sends to each other one in the balanced case).
    const auto report = [&](const char* name, auto enqueue) {
      const auto microseconds = [&](size_t iterations) {
        return gpus
            .time([&](int gpu, cudaStream_t stream) {
              if (gpu < n) enqueue(gpu, stream, iterations / peers * kIteration);
            })
            .all;
      };
      const double half = microseconds(kMostIterations / 2);
      std::printf("%s.%d %.4f\n", name, n, microseconds(kMostIterations) - half);
    };
    report("one", [&](int gpu, cudaStream_t stream, size_t each) {
      if (gpu == 1) push(gpu, 0, each * peers, stream);
    });
    report("balanced", [&](int gpu, cudaStream_t stream, size_t each) {
      scatter<<<kBlocks, kBlockThreads, 0, stream>>>(received, sent.of[gpu], each, gpu, n);
    });
    report("skewed", [&](int gpu, cudaStream_t stream, size_t each) {
      if (gpu != 0) push(gpu, 0, each * peers, stream);
    });
  }
}
