// A graph of a graph that is not there is launched.
// exit: 1
// says: launch: rank 0: the launch of a graph: cudaErrorInvalidValue
#include "silent.h"
int main() {
  fill<<<1, 32>>>(words());
  cudaDeviceSynchronize();
  cudaGraphExec_t exec = nullptr;
  cudaGraphInstantiate(&exec, nullptr, 0);
  cudaGraphLaunch(exec, nullptr);
  cudaDeviceSynchronize();
}
