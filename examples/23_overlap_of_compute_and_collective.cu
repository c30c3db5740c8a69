// Compute and communicate at the same time: pieces of a gradient are reduced while the next ones are computed.
//
// Teaches: a collective and a kernel on different streams overlap, and an event says which piece is ready. The total is
// then the longer of the two, not their sum, plus one piece at each end.
// Watch out: NCCL's kernel needs multiprocessors of its own. A kernel that fills all of them keeps the collective
// waiting until its blocks end, and a collective that waits for a late rank keeps its multiprocessors meanwhile:
// kernels beside it get fewer. The pieces are separate bytes: a collective on a piece that is still being written is a
// race.
//
// Run: fabricbench exec --platform h100x8 --ranks 4 examples/23_overlap_of_compute_and_collective.cu -lnccl
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/bootstrap.h"
#include "common/check.h"
#include "common/communicator.h"

constexpr int kPieces = 4, kPiece = 1 << 18;  // elements

// Some arithmetic for each element; the result is a small whole number.
__global__ void compute(float* piece, int n, int rank, int rounds) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float x = static_cast<float>(i % 64 + rank);
    for (int k = 0; k < rounds; ++k) x = x * 0.5f + static_cast<float>(i % 64 + rank) * 0.5f;
    piece[i] = x;
  }
}

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  const Communicator comm(bootstrap);
  cudaStream_t computing = nullptr, talking = nullptr;
  CHECK(cudaStreamCreateWithFlags(&computing, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&talking, cudaStreamNonBlocking));
  std::vector<cudaEvent_t> ready(kPieces);
  for (auto& event : ready) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  cudaEvent_t begin = nullptr, end = nullptr;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  float* gradient = nullptr;
  CHECK(cudaMalloc(&gradient, size_t{kPieces} * kPiece * sizeof(float)));

  std::vector<float> host(size_t{kPieces} * kPiece);
  const auto run = [&](bool overlap) {
    CHECK(cudaDeviceSynchronize());
    bootstrap.barrier();
    CHECK(cudaEventRecord(begin, computing));
    CHECK(cudaStreamWaitEvent(talking, begin, 0));
    cudaStream_t reducing = overlap ? talking : computing;
    for (int k = 0; k < kPieces; ++k) {
      float* piece = gradient + size_t{kPiece} * k;
      compute<<<64, 256, 0, computing>>>(piece, kPiece, rank, 40);
      CHECK(cudaGetLastError());
      if (overlap) {
        CHECK(cudaEventRecord(ready[k], computing));
        CHECK(cudaStreamWaitEvent(talking, ready[k], 0));
      }
      CHECK_NCCL(ncclAllReduce(piece, piece, kPiece, ncclFloat, ncclSum, comm, reducing));
    }
    CHECK(cudaEventRecord(end, reducing));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    CHECK(cudaMemcpy(host.data(), gradient, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < host.size(); ++i) {
      float expected = 0;
      for (int r = 0; r < world; ++r) expected += static_cast<float>(i % kPiece % 64 + r);
      if (host[i] != expected) fail("rank %d: element %zu is %g, expected %g", rank, i, host[i], expected);
    }
    const auto all = bootstrap.all_gather(milliseconds);
    return 1000 * *std::max_element(all.begin(), all.end());
  };
  const float one_stream = run(false), two_streams = run(true);

  for (auto& event : ready) CHECK(cudaEventDestroy(event));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaFree(gradient));
  CHECK(cudaStreamDestroy(computing));
  CHECK(cudaStreamDestroy(talking));
  if (rank == 0) std::printf("OK on one stream %.1f us, on two %.1f us, %d ranks\n", one_stream, two_streams, world);
}
