// One block of 1024 threads moves 16 bytes a thread at a time: put stores into the peer's memory and then signals, get
// loads from it. Kernels follow each other in a graph.
#include "../../examples/common/flags.h"
#include "common/harness.h"

constexpr int kThreads = 1024;

__device__ void copy(const int4* from, int4* to, long quads) {
#pragma unroll 1
  for (long i = threadIdx.x; i < quads; i += kThreads) to[i] = from[i];
}

__global__ void put(const int4* from, int4* to, long quads, unsigned int* flag) {
  copy(from, to, quads);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    SystemFlag(*flag).fetch_add(1, cuda::memory_order_relaxed);
  }
}
__global__ void get(const int4* from, int4* to, long quads) { copy(from, to, quads); }

int main(int count, char** values) {
  const Arguments arguments(count, values);
  const bool puts = arguments.algorithm == "put";
  measure_all(arguments, [puts](const Gpu& gpu, long bytes) {
    const long quads = bytes / 16;
    const Shared<int4> buffer(gpu.bootstrap, quads);
    const Shared<unsigned int> flag(gpu.bootstrap, 1);
    if (gpu.rank != 0) return 0.0;
    int4* const local = buffer.mine();
    int4* const remote = buffer.peers().of[1];
    unsigned int* const there = flag.peers().of[1];
    return gpu.from_graph(2, [&] {
      if (puts) {
        put<<<1, kThreads, 0, gpu.stream>>>(local, remote, quads, there);
      } else {
        get<<<1, kThreads, 0, gpu.stream>>>(remote, local, quads);
      }
    });
  });
}
