// All-gather of 8 bytes per rank, then a barrier: what limits a large NVLink domain is latency, not bandwidth.
//
// Teaches: thread t exchanges data with rank t, all at the same time, so the time hardly grows with the number of ranks. The 8
// bytes go as two LL lines (14_ll_all_gather.cu). Watch out: everything that is done "for each peer" on the host is
// done world times on each of world ranks: open handles once, not in each call. On a real NVL72 rack, ranks of
// different trays share memory by fabric handles (CU_MEM_HANDLE_TYPE_FABRIC); IPC handles work within one host.
//
// Run: fabricbench exec --platform gb200_nvl72 --ranks 72 examples/15_small_all_gather_and_barrier.cu
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/bootstrap.h"
#include "common/check.h"
#include "common/flags.h"
#include "common/peers.h"

struct Mailbox {
  unsigned long long lines[2][kMostRanks][2];  // by epoch, source, half
  unsigned int flags[kMostRanks];
};

__device__ void send_line(unsigned long long* to, unsigned int half, unsigned int epoch) {
  *static_cast<volatile unsigned long long*>(to) = static_cast<unsigned long long>(epoch) << 32 | half;
}

__device__ unsigned int receive_line(const unsigned long long* from, unsigned int epoch) {
  unsigned long long line;
  do {
    line = *static_cast<const volatile unsigned long long*>(from);
  } while (static_cast<unsigned int>(line >> 32) != epoch);
  return static_cast<unsigned int>(line);
}

// One block with a thread for each rank.
__global__ void gather_and_meet(Peers<Mailbox> boxes, unsigned long long value, unsigned long long* all, int rank,
                                int world, unsigned int epoch) {
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < world) {
    unsigned long long* const theirs = boxes.of[peer]->lines[epoch % 2][rank];
    send_line(theirs, static_cast<unsigned int>(value), epoch);
    send_line(theirs + 1, static_cast<unsigned int>(value >> 32), epoch);
    const unsigned long long* const mine = boxes.of[rank]->lines[epoch % 2][peer];
    const unsigned long long low = receive_line(mine, epoch), high = receive_line(mine + 1, epoch);
    all[peer] = high << 32 | low;

    post_flag(&boxes.of[peer]->flags[rank], epoch);
    wait_flag(&boxes.of[rank]->flags[peer], epoch);
  }
}

unsigned long long value_of(int rank, unsigned int epoch) {
  return 0x9e3779b97f4a7c15ull * (static_cast<unsigned long long>(rank) + 1) + epoch;
}

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));

  Mailbox* mine = nullptr;
  unsigned long long* all = nullptr;
  CHECK(cudaMalloc(&mine, sizeof(Mailbox)));
  CHECK(cudaMalloc(&all, kMostRanks * sizeof *all));
  CHECK(cudaMemset(mine, 0, sizeof(Mailbox)));
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    std::vector<unsigned long long> host(static_cast<size_t>(world));
    for (unsigned int epoch = 1; epoch <= 3; ++epoch) {
      gather_and_meet<<<1, 96>>>(buffers.at<Mailbox>(0), value_of(rank, epoch), all, rank, world, epoch);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpy(host.data(), all, host.size() * sizeof host[0], cudaMemcpyDeviceToHost));
      for (int r = 0; r < world; ++r) {
        if (host[r] != value_of(r, epoch)) fail("rank %d: the value of rank %d is %llx", rank, r, host[r]);
      }
    }
  }
  CHECK(cudaFree(mine));
  CHECK(cudaFree(all));
  if (rank == 0) std::printf("OK all-gather of 8 bytes and barrier on %d ranks\n", world);
}
