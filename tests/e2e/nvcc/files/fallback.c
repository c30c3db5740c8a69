// A library with a static runtime inside and fallbacks for functions that older runtimes lack.
#include <cuda_runtime_api.h>

__attribute__((weak, visibility("hidden"))) cudaError_t cudaStreamUpdateCaptureDependencies_v2(
    cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges, size_t count, unsigned int flags) {
  (void)stream, (void)nodes, (void)edges, (void)count, (void)flags;
  return cudaErrorStubLibrary;
}

__attribute__((visibility("default"))) void ask(int* begun, int* updated, int* devices) {
  cudaStream_t stream;
  cudaGraph_t graph;
  *begun = cudaStreamCreate(&stream) + cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  *updated = cudaStreamUpdateCaptureDependencies_v2(stream, 0, 0, 0, cudaStreamSetCaptureDependencies);
  cudaStreamEndCapture(stream, &graph);
  cudaGetDeviceCount(devices);
}
