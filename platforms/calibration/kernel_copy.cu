// A grid that fills the GPU copies 16 bytes a thread at a time: put stores into the peer's memory, get loads from it.
// The host waits for each kernel.
#include "common/harness.h"

constexpr int kThreads = 512, kBatch = 4;

__global__ void copy(const int4* from, int4* to, long quads) {
  const long stride = static_cast<long>(gridDim.x) * kThreads;
  long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  for (; i + (kBatch - 1) * stride < quads; i += kBatch * stride) {
    int4 values[kBatch];
    for (int k = 0; k < kBatch; ++k) values[k] = from[i + k * stride];
    for (int k = 0; k < kBatch; ++k) to[i + k * stride] = values[k];
  }
  for (; i < quads; i += stride) to[i] = from[i];
}

int main(int count, char** values) {
  const Arguments arguments(count, values);
  const bool puts = arguments.algorithm == "put";
  measure_all(arguments, [puts](const Gpu& gpu, long bytes) {
    const Shared<int4> buffer(gpu.bootstrap, bytes / 16);
    if (gpu.rank != 0) return 0.0;
    const int4* const from = puts ? buffer.mine() : buffer.peers().of[1];
    int4* const to = puts ? buffer.peers().of[1] : buffer.mine();
    int sms = 0;
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    return gpu.one_by_one(2, [&] { copy<<<2 * sms, kThreads, 0, gpu.stream>>>(from, to, bytes / 16); });
  });
}
