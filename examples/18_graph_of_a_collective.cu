// A graph of a collective: captured once, replayed many times with one call.
//
// Teaches: between cudaStreamBeginCapture and cudaStreamEndCapture work is recorded, not run; the graph then launches
// all of it for the price of one call, which matters for small messages. Watch out: arguments are frozen in the
// capture. An epoch passed as an argument would be the same in each replay, and all barriers after the first would fall
// through. So the epoch lives in device memory, and the kernel itself counts it up.
//
// Run: fabricbench exec --platform h100x8 --ranks 4 examples/18_graph_of_a_collective.cu
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/block_barrier.h"
#include "common/bootstrap.h"
#include "common/check.h"

constexpr size_t kInputAt = (sizeof(BlockFlags) + 255) / 256 * 256;
constexpr int kBlocks = 4, kThreads = 256;

__global__ void grow(unsigned int* values, int n, unsigned int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += by;
}

// epochs[b] is block b's own.
__global__ void all_reduce(Peers<BlockFlags> flags, Peers<unsigned int> inputs, unsigned int* output, int n, int rank,
                           int world, unsigned int* epochs) {
  const unsigned int epoch = epochs[blockIdx.x];
  block_barrier(flags, rank, world, 2 * epoch + 1);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned int sum = 0;
    for (int r = 0; r < world; ++r) sum += inputs.of[r][i];
    output[i] = sum;
  }
  block_barrier(flags, rank, world, 2 * epoch + 2);
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch + 1;
}

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  constexpr int kCount = 3001, kReplays = 5;
  constexpr size_t kBytes = kCount * sizeof(unsigned int);

  char* mine = nullptr;
  unsigned int *output = nullptr, *epochs = nullptr, *host = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaMalloc(&mine, kInputAt + kBytes));
  CHECK(cudaMalloc(&output, kBytes));
  CHECK(cudaMalloc(&epochs, kBlocks * sizeof *epochs));
  CHECK(cudaMallocHost(&host, kBytes));
  CHECK(cudaMemset(mine, 0, kInputAt + kBytes));
  CHECK(cudaMemset(epochs, 0, kBlocks * sizeof *epochs));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaDeviceSynchronize());
  {
    const PeerBuffers buffers(bootstrap, mine);
    const auto flags = buffers.at<BlockFlags>(0);
    const auto inputs = buffers.at<unsigned int>(kInputAt);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    grow<<<(kCount + kThreads - 1) / kThreads, kThreads, 0, stream>>>(inputs.of[rank], kCount, rank + 1);
    all_reduce<<<kBlocks, kThreads, 0, stream>>>(flags, inputs, output, kCount, rank, world, epochs);
    CHECK(cudaMemcpyAsync(host, output, kBytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    if (nodes != 3) fail("rank %d: the graph has %zu nodes, expected 3", rank, nodes);
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));  // the executable is a copy

    // After replay k each input is k * (rank + 1), and their sum k * world * (world + 1) / 2.
    for (int replay = 1; replay <= kReplays; ++replay) {
      CHECK(cudaGraphLaunch(executable, stream));
      CHECK(cudaStreamSynchronize(stream));
      const unsigned int expected = static_cast<unsigned int>(replay * world * (world + 1) / 2);
      for (int i = 0; i < kCount; ++i) {
        if (host[i] != expected) fail("rank %d, replay %d: sum %d is %u, not %u", rank, replay, i, host[i], expected);
      }
    }
    CHECK(cudaGraphExecDestroy(executable));
  }
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(mine));
  CHECK(cudaFree(output));
  CHECK(cudaFree(epochs));
  if (rank == 0) std::printf("OK %d replays of a graph on %d ranks\n", kReplays, world);
}
