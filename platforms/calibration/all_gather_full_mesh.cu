// Every GPU writes its part to every peer, all peers at once, then a barrier. Replayed from a graph. The size is that of the
// whole output.
#include "common/peer_barrier.h"
#include "common/harness.h"

constexpr int kThreads = 1024, kBlocksOfPeer = 8;

// Blocks are distributed over the peers.
__global__ void __launch_bounds__(kThreads) all_gather(PeerBarrier peer_barrier, Peers<int4> outputs, long quads, unsigned int* epochs) {
  const int others = peer_barrier.world - 1;
  const int peer = (peer_barrier.rank + 1 + static_cast<int>(blockIdx.x) % others) % peer_barrier.world;
  const long first = static_cast<long>(blockIdx.x) / others * kThreads + threadIdx.x;
  const long stride = static_cast<long>(gridDim.x) / others * kThreads;
  const long mine = peer_barrier.rank * quads;
  const int4* const from = outputs.of[peer_barrier.rank] + mine;
  int4* const to = outputs.of[peer] + mine;
#pragma unroll 4
  for (long i = first; i < quads; i += stride) to[i] = from[i];
  const unsigned int epoch = epochs[blockIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    // The block of the peer that writes to this GPU has another number: flags are by sender's share.
    const int share = static_cast<int>(blockIdx.x) / others;
    post_flag(&peer_barrier.words[peer]->of[share][peer_barrier.rank], epoch);
    wait_flag(&peer_barrier.words[peer_barrier.rank]->of[share][peer], epoch);
    epochs[blockIdx.x] = epoch;
  }
}

int main(int count, char** values) {
  measure_all(Arguments(count, values), [](const Gpu& gpu, long bytes) {
    const long quads = bytes / 16 / gpu.world;
    const int blocks = (gpu.world - 1) * kBlocksOfPeer;
    const Shared<Words> words(gpu.bootstrap, 1);
    const Shared<int4> outputs(gpu.bootstrap, quads * gpu.world);
    const Shared<unsigned int> epochs(gpu.bootstrap, blocks);
    const PeerBarrier peer_barrier(words.peers(), gpu.rank, gpu.world);
    return gpu.from_graph(3, [&] {
      all_gather<<<blocks, kThreads, 0, gpu.stream>>>(peer_barrier, outputs.peers(), quads, epochs.mine());
    });
  });
}
