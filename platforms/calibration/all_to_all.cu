// Every GPU sends a part of its input to every other one with 16-byte stores, in kernels that follow each other;
// a barrier before and after. The size is that of one GPU's input.
#include "common/peer_barrier.h"
#include "common/harness.h"

constexpr int kBlocks = 128, kThreads = 512, kBatch = 4;

__global__ void __launch_bounds__(kThreads) all_to_all(PeerBarrier peer_barrier, const int4* in, Peers<int4> outputs, long quads,
                                                       unsigned int* epochs) {
  const unsigned int epoch = epochs[blockIdx.x] + 1;
  peer_barrier.sync(2 * epoch - 1);
  const long part = quads / peer_barrier.world, stride = static_cast<long>(gridDim.x) * kThreads;
  // Each GPU begins with another peer, so that no GPU is the first target of all.
  for (int k = 0; k < peer_barrier.world; ++k) {
    const int peer = (peer_barrier.rank + k) % peer_barrier.world;
    const int4* const from = in + peer * part;
    int4* const to = outputs.of[peer] + peer_barrier.rank * part;
    for (long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x; i < part; i += kBatch * stride) {
      int4 v[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        if (i + b * stride < part) v[b] = from[i + b * stride];
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        if (i + b * stride < part) to[i + b * stride] = v[b];
      }
    }
  }
  peer_barrier.sync(2 * epoch);
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;
}

int main(int count, char** values) {
  measure_all(Arguments(count, values), [](const Gpu& gpu, long bytes) {
    const long quads = bytes / 16;
    const Shared<Words> words(gpu.bootstrap, 1);
    const Shared<int4> in(gpu.bootstrap, quads), out(gpu.bootstrap, quads);
    const Shared<unsigned int> epochs(gpu.bootstrap, kBlocks);
    const PeerBarrier peer_barrier(words.peers(), gpu.rank, gpu.world);
    return gpu.from_graph(3, [&] {
      all_to_all<<<kBlocks, kThreads, 0, gpu.stream>>>(peer_barrier, in.mine(), out.peers(), quads, epochs.mine());
    });
  });
}
