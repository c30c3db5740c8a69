// All GPUs increment one counter of the first one, one operation after the other. The size is the number of operations;
// the time is that of one.
#include "../../examples/common/flags.h"
#include "common/harness.h"

__global__ void increment(unsigned int* counter, long operations, long long* cycles) {
  const long long begin = clock64();
  unsigned int last = 0;
  for (long k = 0; k < operations; ++k) last = SystemFlag(*counter).fetch_add(1, cuda::memory_order_relaxed);
  cycles[0] = clock64() - begin;
  cycles[1] = last;
}

int main(int count, char** values) {
  measure_all(Arguments(count, values), [](const Gpu& gpu, long operations) {
    const Shared<unsigned int> counters(gpu.bootstrap, 1);
    const Shared<long long> cycles(gpu.bootstrap, 2);
    increment<<<1, 1, 0, gpu.stream>>>(counters.peers().of[0], operations, cycles.mine());
    CHECK(cudaGetLastError());
    return gpu.in_microseconds(cycles.mine()) / static_cast<double>(operations);
  });
}
