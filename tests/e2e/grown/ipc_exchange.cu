// Two processes that have opened each other's memory and exchange data behind flags in it.
//
// ranks: 2
// class: published without release
// lines: write read
#include "../../../examples/common/bootstrap.h"
#include "../../../examples/common/flags.h"
#include "../../../examples/common/peers.h"
#include "grown.h"

constexpr int kThreads = 64;
struct Inbox {
  unsigned int flag;
  int data[kThreads];
};

__global__ void exchange(Peers<Inbox> inboxes, int rank, int* out) {
  Inbox* peer = inboxes.of[1 - rank];
  peer->data[threadIdx.x] = 10 * rank + static_cast<int>(threadIdx.x);  // [write]
  __syncthreads();
  if (threadIdx.x == 0) {
#ifdef MISTAKE
    SystemFlag(peer->flag).store(1, cuda::memory_order_relaxed);
#else
    post_flag(&peer->flag, 1);
#endif
    wait_flag(&inboxes.of[rank]->flag, 1);
  }
  __syncthreads();
  out[threadIdx.x] = inboxes.of[rank]->data[threadIdx.x];  // [read]
}

int main() {
  Bootstrap bootstrap;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  auto* mine = zeroed<Inbox>(1);
  int* out = zeroed<int>(kThreads);
  {
    const PeerBuffers buffers(bootstrap, mine);
    exchange<<<1, kThreads>>>(buffers.at<Inbox>(0), bootstrap.rank, out);
    CHECK(cudaDeviceSynchronize());
  }
#ifndef MISTAKE
  const auto got = read(out, kThreads);
  for (int i = 0; i < kThreads; ++i) expect(got[i], 10 * (1 - bootstrap.rank) + i, "out");
#endif
  std::puts("OK two processes");
}
