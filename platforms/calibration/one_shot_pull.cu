// All-reduce in one shot, as inference engines do it: a barrier, read and add all peers' vectors, a barrier, with
// volatile flags. bf16, replayed from a graph. The size is that of one GPU's vector.
#include <cuda_bf16.h>

#include "common/peer_barrier.h"
#include "common/harness.h"

constexpr int kThreads = 512, kMostBlocks = 36;

__device__ void add(float (&sum)[8], uint4 packed) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&packed);
  for (int k = 0; k < 4; ++k) {
    const float2 pair = __bfloat1622float2(pairs[k]);
    sum[2 * k] += pair.x;
    sum[2 * k + 1] += pair.y;
  }
}

__global__ void __launch_bounds__(kThreads) all_reduce(PeerBarrier peer_barrier, Peers<uint4> vectors, uint4* out, long quads,
                                                       unsigned int* epochs) {
  const unsigned int epoch = epochs[blockIdx.x] + 1;
  peer_barrier.sync_without_fences(2 * epoch - 1);
  for (long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x; i < quads; i += gridDim.x * kThreads) {
    uint4 parts[kMostGpus];
#pragma unroll
    for (int k = 0; k < kMostGpus; ++k) {
      if (k < peer_barrier.world) parts[k] = vectors.of[k][i];
    }
    float sum[8] = {};
#pragma unroll
    for (int k = 0; k < kMostGpus; ++k) {
      if (k < peer_barrier.world) add(sum, parts[k]);
    }
    uint4 result;
    auto* pairs = reinterpret_cast<__nv_bfloat162*>(&result);
    for (int k = 0; k < 4; ++k) pairs[k] = __floats2bfloat162_rn(sum[2 * k], sum[2 * k + 1]);
    out[i] = result;
  }
  peer_barrier.sync_without_fences(2 * epoch);
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;
}

int main(int count, char** values) {
  measure_all(Arguments(count, values), [](const Gpu& gpu, long bytes) {
    const long quads = bytes / 16;
    const int blocks = static_cast<int>(std::min<long>(kMostBlocks, (quads + kThreads - 1) / kThreads));
    const Shared<Words> words(gpu.bootstrap, 1);
    const Shared<uint4> in(gpu.bootstrap, quads), out(gpu.bootstrap, quads);
    const Shared<unsigned int> epochs(gpu.bootstrap, kMostBlocks);
    const PeerBarrier peer_barrier(words.peers(), gpu.rank, gpu.world);
    return gpu.from_graph(3, [&] {
      all_reduce<<<blocks, kThreads, 0, gpu.stream>>>(peer_barrier, in.peers(), out.mine(), quads, epochs.mine());
    });
  });
}
