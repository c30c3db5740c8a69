// Two GPUs answer each other through two flags in the memory of the first one: a fence and a relaxed reduction signal, a
// load with acquire polls. A size is not used; the time is that of a round trip, inside one kernel.
#include "common/harness.h"

constexpr unsigned int kWarmUp = 4, kRounds = 20;

__device__ void signal(unsigned int* flag) {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
  asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
}

__device__ void wait_for(unsigned int* flag, unsigned int value) {
  unsigned int seen;
  do {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  } while (seen < value);
}

__global__ void play(unsigned int* there, unsigned int* back, bool serving, long long* cycles) {
  long long begin = 0;
  for (unsigned int round = 1; round <= kWarmUp + kRounds; ++round) {
    if (round == kWarmUp + 1) begin = clock64();
    if (serving) {
      signal(there);
      wait_for(back, round);
    } else {
      wait_for(there, round);
      signal(back);
    }
  }
  *cycles = clock64() - begin;
}

int main(int count, char** values) {
  measure_all(Arguments(count, values), [](const Gpu& gpu, long) {
    const Shared<unsigned int> flags(gpu.bootstrap, 128);
    const Shared<long long> cycles(gpu.bootstrap, 1);
    unsigned int* const first = flags.peers().of[0];
    play<<<1, 1, 0, gpu.stream>>>(first, first + 64, gpu.rank == 0, cycles.mine());
    CHECK(cudaGetLastError());
    return gpu.in_microseconds(cycles.mine()) / kRounds;
  });
}
