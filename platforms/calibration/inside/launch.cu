// Time of one of many short kernels in a row, in microseconds.
//   stream    empty kernels, launched one by one
//   graph     empty kernels, nodes of one graph
//   graph_scale   the same with kernels that multiply 64 kB of doubles, which stay in L2
#include "measure.h"

__global__ void empty() {}
__global__ void scale(const double* from, double* to) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  to[k] = 1.2 * from[k];
}

// The second launch of a graph counts.
template <class Launch>
double in_graph(int count, Launch launch) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t program = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int k = 0; k < count; ++k) launch(stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&program, graph, 0));
  const auto time = [&] { return elapsed([&] { CHECK(cudaGraphLaunch(program, cudaStreamLegacy)); }); };
  time();
  return time() / count;
}

int main(int count, char** values) {
  Arguments arguments(count, values, "launch stream|graph|graph_scale");
  const std::string what = arguments.text();
  constexpr int kKernels = 100;
  if (what == "stream") {
    report(elapsed([] {
             for (int k = 0; k < kKernels; ++k) empty<<<1, 32>>>();
           }) / kKernels,
           "us");
  } else if (what == "graph") {
    report(in_graph(kKernels, [](cudaStream_t stream) { empty<<<1, 32, 0, stream>>>(); }), "us");
  } else if (what == "graph_scale") {
    constexpr unsigned kDoubles = 4096;  // read and written: 64 kB
    const auto* const from = zeroed_memory<double>(kDoubles);
    auto* const to = zeroed_memory<double>(kDoubles);
    report(in_graph(kKernels, [&](cudaStream_t stream) { scale<<<kDoubles / 256, 256, 0, stream>>>(from, to); }), "us");
  } else {
    arguments.refuse(what);
  }
}
