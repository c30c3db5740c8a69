// Every GPU writes its part to every peer, all peers at once, then all meet. Replayed from a graph. The size is that of the
// whole output.
#include "common/device_meeting.h"
#include "common/harness.h"

constexpr int kThreads = 1024, kBlocksOfPeer = 8;

// Blocks are dealt out to the meeting.
__global__ void __launch_bounds__(kThreads) all_gather(Meeting meeting, Peers<int4> outputs, long quads, unsigned int* epochs) {
  const int others = meeting.world - 1;
  const int peer = (meeting.rank + 1 + static_cast<int>(blockIdx.x) % others) % meeting.world;
  const long first = static_cast<long>(blockIdx.x) / others * kThreads + threadIdx.x;
  const long stride = static_cast<long>(gridDim.x) / others * kThreads;
  const long mine = meeting.rank * quads;
  const int4* const from = outputs.of[meeting.rank] + mine;
  int4* const to = outputs.of[peer] + mine;
#pragma unroll 4
  for (long i = first; i < quads; i += stride) to[i] = from[i];
  const unsigned int epoch = epochs[blockIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    // The block of the peer that writes to this GPU has another number: flags are by sender's share.
    const int share = static_cast<int>(blockIdx.x) / others;
    post_flag(&meeting.words[peer]->of[share][meeting.rank], epoch);
    wait_flag(&meeting.words[meeting.rank]->of[share][peer], epoch);
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
    const Meeting meeting(words.everybodys(), gpu.rank, gpu.world);
    return gpu.from_graph(3, [&] {
      all_gather<<<blocks, kThreads, 0, gpu.stream>>>(meeting, outputs.everybodys(), quads, epochs.mine());
    });
  });
}
