// cudaMemcpy from one GPU to another; the host waits for each copy.
#include "common/harness.h"

int main(int count, char** values) {
  measure_all(Arguments(count, values), [](const Gpu& gpu, long bytes) {
    const Shared<char> buffer(gpu.bootstrap, bytes);
    if (gpu.rank != 0) return 0.0;
    char* const from = buffer.mine();
    char* const to = buffer.peers().of[1];
    return gpu.one_by_one(
        3, [&] { CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, gpu.stream)); });
  });
}
