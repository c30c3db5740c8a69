// A capture that is never ended: its kernel is in no graph.
// exit: 1
// says: the capture of 1 launches in a graph, which was not ended
#include "silent.h"
int main() {
  int* x = words();
  fill<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  fill<<<1, 32, 0, stream>>>(x);
}
