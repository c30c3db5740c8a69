// A barrier of all GPUs in a kernel of one block: each thread adds 1 to its row at one peer and waits for the peer's in its
// own. Kernels follow each other. The size, the number of GPUs, is that of the ranks.
#include "common/peer_barrier.h"
#include "common/harness.h"

__global__ void barrier(PeerBarrier peer_barrier, unsigned int epoch) {
  const unsigned int peer = threadIdx.x;
  if (peer >= static_cast<unsigned int>(peer_barrier.world)) return;
  SystemFlag(peer_barrier.words[peer]->of[0][peer_barrier.rank]).fetch_add(1, cuda::memory_order_release);
  wait_flag(&peer_barrier.words[peer_barrier.rank]->of[0][peer], epoch);
}

int main(int count, char** values) {
  measure_all(Arguments(count, values), [](const Gpu& gpu, long) {
    const Shared<Words> words(gpu.bootstrap, 1);
    const PeerBarrier peer_barrier(words.peers(), gpu.rank, gpu.world);
    unsigned int epoch = 0;
    double time = 0;
    CHECK(cudaStreamSynchronize(gpu.stream));
    time = gpu.back_to_back(6, [&] { barrier<<<1, 32, 0, gpu.stream>>>(peer_barrier, ++epoch); });
    return time;
  });
}
