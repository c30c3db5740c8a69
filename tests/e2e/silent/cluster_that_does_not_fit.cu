// exit: 1
// says: the launch of kernel fill(int*)
// says: cudaErrorInvalidClusterSize
#include "silent.h"
int main() {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {3, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = {4, 1, 1};
  config.blockDim = {32, 1, 1};
  config.attrs = &cluster;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, fill, words());
  cudaDeviceSynchronize();
}
