// All-reduces in place of argv[1] MiB on all devices, argv[2] of them one after the other.
#include <nccl.h>

#include <cstdlib>
#include <vector>

int main(int, char** argv) {
  int n = 0;
  cudaGetDeviceCount(&n);
  const size_t bytes = static_cast<size_t>(std::atoi(argv[1])) << 20;
  std::vector<ncclComm_t> comms(n);
  std::vector<float*> buffers(n);
  std::vector<cudaStream_t> streams(n);
  if (ncclCommInitAll(comms.data(), n, nullptr) != ncclSuccess) return 1;
  for (int d = 0; d < n; ++d) {
    cudaSetDevice(d);
    if (cudaMalloc(&buffers[d], bytes) != cudaSuccess) return 2;
    cudaStreamCreate(&streams[d]);
    cudaMemset(buffers[d], 0x3c, bytes);
    cudaDeviceSynchronize();
  }
  for (int k = 0; k < std::atoi(argv[2]); ++k) {
    ncclGroupStart();
    for (int d = 0; d < n; ++d)
      ncclAllReduce(buffers[d], buffers[d], bytes / 4, ncclFloat, ncclSum, comms[d], streams[d]);
    if (ncclGroupEnd() != ncclSuccess) return 3;
  }
  for (int d = 0; d < n; ++d) {
    cudaSetDevice(d);
    if (cudaStreamSynchronize(streams[d]) != cudaSuccess) return 4;
  }
}
