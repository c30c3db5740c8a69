// Kernels in graphs, of which one is never launched.
// exit: 0
// says: 6 kernels, 192 accesses checked: 0 findings
#include "silent.h"
int main() {
  int* x = words();
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaGraph_t graph[2];
  cudaGraphExec_t exec[2];
  for (int k = 0; k < 2; ++k) {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    fill<<<1, 32, 0, stream>>>(x);
    cudaStreamEndCapture(stream, &graph[k]);
    cudaGraphInstantiate(&exec[k], graph[k], 0);
  }
  for (int k = 0; k < 3; ++k) cudaGraphLaunch(exec[0], stream);
  cudaStreamSynchronize(stream);
}
