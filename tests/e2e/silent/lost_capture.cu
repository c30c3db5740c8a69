// A synchronisation in a capture invalidates it, and its kernels are in no graph.
// exit: 1
// says: the capture of 2 launches in a graph: cudaErrorStreamCaptureInvalidated
#include "silent.h"
int main() {
  int* x = words();
  fill<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  fill<<<1, 32, 0, stream>>>(x);
  fill<<<1, 32, 0, stream>>>(x);
  cudaStreamSynchronize(stream);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
}
