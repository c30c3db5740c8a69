// Shared by all calibration programs: one process for each GPU, and the methods by which the published curves were timed.
// Times are taken with events, in the machine's own time.
//
// A program is called with an algorithm, where it knows several, and sizes; it prints one line "SIZE MICROSECONDS" for each
// size: the slowest GPU's time of one operation.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../../examples/common/bootstrap.h"
#include "../../../examples/common/check.h"
#include "../../../examples/common/peers.h"

struct Arguments {
  std::string algorithm;
  std::vector<long> sizes;

  Arguments(int count, char** values) {
    int next = 1;
    if (next < count && (values[next][0] < '0' || values[next][0] > '9')) algorithm = values[next++];
    while (next < count) sizes.push_back(std::atol(values[next++]));
    if (sizes.empty()) fail("usage: %s [ALGORITHM] SIZE...", values[0]);
  }
};

// Zeroed memory of this GPU, and the same buffer of each peer.
template <class T>
class Shared {
 public:
  Shared(Bootstrap& bootstrap, size_t count) : memory_(allocate(count)), buffers_(bootstrap, memory_) {}
  ~Shared() = default;  // memory is the process's until its end
  T* mine() const { return memory_; }
  Peers<T> peers() const { return buffers_.template at<T>(0); }

 private:
  static T* allocate(size_t count) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    CHECK(cudaMemset(memory, 0, count * sizeof(T)));
    CHECK(cudaDeviceSynchronize());
    return static_cast<T*>(memory);
  }
  T* memory_;
  PeerBuffers buffers_;
};

class Gpu {
 public:
  Gpu() {
    CHECK(cudaSetDevice(bootstrap.local_rank));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&begin_));
    CHECK(cudaEventCreate(&end_));
  }

  // The host waits for each operation before it asks for the next one. Microseconds of one.
  template <class Operation>
  double one_by_one(int count, Operation operation) const {
    operation();
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventRecord(begin_, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int k = 0; k < count; ++k) {
      operation();
      CHECK(cudaStreamSynchronize(stream));
    }
    return since_begin(count);
  }

  // The host runs ahead: operations follow each other on the device.
  template <class Operation>
  double back_to_back(int count, Operation operation) const {
    for (int k = 0; k < 3; ++k) operation();
    CHECK(cudaEventRecord(begin_, stream));
    for (int k = 0; k < count; ++k) operation();
    return since_begin(count);
  }

  // `count` operations as one graph, which is launched twice; the second one counts.
  template <class Operation>
  double from_graph(int count, Operation operation) const {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t program = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < count; ++k) operation();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&program, graph, 0));
    CHECK(cudaGraphLaunch(program, stream));
    CHECK(cudaEventRecord(begin_, stream));
    CHECK(cudaGraphLaunch(program, stream));
    const double time = since_begin(count);
    CHECK(cudaGraphExecDestroy(program));
    CHECK(cudaGraphDestroy(graph));
    return time;
  }

  // Microseconds of what a kernel has counted with clock64().
  double in_microseconds(const long long* cycles) const {
    long long taken = 0;
    CHECK(cudaMemcpyAsync(&taken, cycles, sizeof taken, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    int kilohertz = 0;
    CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, bootstrap.local_rank));
    return 1000.0 * static_cast<double>(taken) / kilohertz;
  }

  mutable Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  cudaStream_t stream = nullptr;

 private:
  double since_begin(int count) const {
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end_, stream));
    CHECK(cudaStreamSynchronize(stream));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1000.0 * milliseconds / count;
  }

  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// Calls measure(gpu, size) for every size, and prints the slowest GPU's time.
template <class Measure>
void measure_all(const Arguments& arguments, Measure measure) {
  const Gpu gpu;
  for (const long size : arguments.sizes) {
    const std::vector<double> times = gpu.bootstrap.all_gather<double>(measure(gpu, size));
    if (gpu.rank == 0) std::printf("%ld %.4f\n", size, *std::max_element(times.begin(), times.end()));
  }
}
