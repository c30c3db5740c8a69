// Ring all-reduce of several sizes on 2 … 8 GPUs, as examples/12_ring_all_reduce.cu, and a push of the same sizes over
// one link. Microseconds: `ring.N.BYTES`, `push.BYTES`.
#include "shapes.h"

constexpr int kMostSteps = 2 * (kMostGpus - 1);

struct Ring {
  unsigned int *my_flags, *right_flags;  // [step][block]
  uint4 *my_inbox, *right_inbox;         // [step][chunk]
  int gpu, gpus;
};

__device__ uint4 operator+(uint4 a, uint4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

__device__ void add_share(uint4* to, const uint4* from, size_t vectors, size_t first, size_t stride) {
  for (size_t i = first; i < vectors; i += kUnrolled * stride) {
    uint4 values[kUnrolled];
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) {
      const size_t at = i + k * stride;
      if (at < vectors) values[k] = __ldcg(from + at) + __ldcg(to + at);
    }
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) {
      if (i + k * stride < vectors) __stcg(to + i + k * stride, values[k]);
    }
  }
}

// Block b of all GPUs moves the b-th part of each chunk. Flags and inboxes are not used again: no credits are needed.
__global__ void all_reduce(Ring ring, uint4* data, size_t chunk, unsigned int epoch) {
  const size_t first = size_t{blockIdx.x} * blockDim.x + threadIdx.x, stride = size_t{gridDim.x} * blockDim.x;
  const int n = ring.gpus;
  for (int step = 0; step < 2 * (n - 1); ++step) {
    const uint4* const send = data + (ring.gpu - step + 2 * n) % n * chunk;
    uint4* const receive = data + (ring.gpu - step - 1 + 2 * n) % n * chunk;
    const uint4* const incoming = ring.my_inbox + step * chunk;
    copy_share(ring.right_inbox + step * chunk, send, chunk, first, stride);
    __syncthreads();
    if (threadIdx.x == 0) {
      post_flag(&ring.right_flags[step * gridDim.x + blockIdx.x], epoch);
      wait_flag(&ring.my_flags[step * gridDim.x + blockIdx.x], epoch);
    }
    __syncthreads();
    if (step < n - 1) {
      add_share(receive, incoming, chunk, first, stride);
    } else {
      copy_share(receive, incoming, chunk, first, stride);
    }
  }
}

int main() {
  // Enough blocks to fill a link, and chunks that are whole iterations of their loops: several, because the overlap of
  // the first iterations differs.
  constexpr int kBlocks = 32, kBlockThreads = 512;
  constexpr size_t kIteration = kBlocks * kBlockThreads * kUnrolled * sizeof(uint4);
  constexpr size_t kSizes[] = {kMostGpus * sizeof(uint4), 2 * kMostGpus * kIteration, 4 * kMostGpus * kIteration,
                               6 * kMostGpus * kIteration};
  Gpus gpus(kMostGpus);
  const auto data = gpus.on_all<uint4>(kSizes[3] / sizeof(uint4));
  const auto inboxes = gpus.on_all<uint4>(2 * kSizes[3] / sizeof(uint4));
  const auto flags = gpus.on_all<unsigned int>(kMostSteps * kBlocks);
  unsigned int epoch = 0;
  for (const size_t bytes : kSizes) {
    for (const int n : {2, 4, 8}) {
      ++epoch;
      const auto times = gpus.time([&](int gpu, cudaStream_t stream) {
        if (gpu >= n) return;
        const int right = (gpu + 1) % n;
        const Ring ring{flags.of[gpu], flags.of[right], inboxes.of[gpu], inboxes.of[right], gpu, n};
        const auto chunk = bytes / sizeof(uint4) / static_cast<size_t>(n);
        all_reduce<<<kBlocks, kBlockThreads, 0, stream>>>(ring, data.of[gpu], chunk, epoch);
      });
      std::printf("ring.%d.%zu %.4f\n", n, bytes, times.all);
    }
    const auto times = gpus.time([&](int gpu, cudaStream_t stream) {
      if (gpu < 2) copy_kernel<<<kBlocks, kBlockThreads, 0, stream>>>(inboxes.of[1 - gpu], data.of[gpu], bytes);
    });
    std::printf("push.%zu %.4f\n", bytes, times.all);
  }
}
