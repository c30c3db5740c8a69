// Ping-pong: how long does a word take from one GPU to another?
//
// Teaches: two kernels answer each other through flags; half of a round trip is the latency of one message. The kernels
// run all rounds, so that launches and host are not measured; the first rounds are left out as warm-up.
// Watch out: clock64() counts cycles of one SM and must be read by one thread on one SM; two GPUs' clocks can't be
// compared, so the time is taken on one side only, for the whole round trip. Ranks work in pairs (0 and 1, 2 and 3, …);
// of an odd number the last one only takes part in the exchange of handles.
//
// Run: fabricbench exec --platform h100x8 --ranks 2 examples/19_ping_pong_latency.cu
#include <cuda_runtime.h>

#include <cstdio>

#include "common/bootstrap.h"
#include "common/check.h"
#include "common/flags.h"
#include "common/peers.h"

constexpr unsigned int kWarmUp = 5, kRounds = 50;

struct Table {
  unsigned int ball;  // written by the partner
  long long cycles;   // of kRounds round trips
  unsigned int caught;
};

__global__ void play(Table* mine, Table* theirs, bool serving) {
  long long begin = 0;
  for (unsigned int round = 1; round <= kWarmUp + kRounds; ++round) {
    if (round == kWarmUp + 1) begin = clock64();
    if (serving) post_flag(&theirs->ball, round);
    wait_flag(&mine->ball, round);
    if (!serving) post_flag(&theirs->ball, round);
    mine->caught += 1;
  }
  mine->cycles = clock64() - begin;
}

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, partner = rank ^ 1;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  int kilohertz = 0;
  CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, bootstrap.local_rank));

  Table* mine = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaMalloc(&mine, sizeof(Table)));
  CHECK(cudaMemset(mine, 0, sizeof(Table)));
  CHECK(cudaDeviceSynchronize());
  Table result{};
  float milliseconds = 0;
  {
    const PeerBuffers buffers(bootstrap, mine);
    const auto tables = buffers.at<Table>(0);
    if (partner < bootstrap.world) {
      CHECK(cudaEventRecord(begin));
      play<<<1, 1>>>(mine, tables.of[partner], rank < partner);
      CHECK(cudaGetLastError());
      CHECK(cudaEventRecord(end));
      CHECK(cudaMemcpy(&result, mine, sizeof result, cudaMemcpyDeviceToHost));
      CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
      if (result.caught != kWarmUp + kRounds) fail("rank %d caught %u balls", rank, result.caught);
      if (result.cycles <= 0) fail("rank %d: %lld cycles", rank, result.cycles);
    }
  }
  CHECK(cudaFree(mine));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  if (rank == 0) {
    const double cycles = static_cast<double>(result.cycles) / (2 * kRounds);
    const double nanoseconds = kilohertz > 0 ? cycles * 1e6 / kilohertz : 0;
    std::printf("OK ping-pong: %.0f ns one way (%.0f cycles), kernel %.3f ms\n", nanoseconds, cycles, milliseconds);
  }
}
