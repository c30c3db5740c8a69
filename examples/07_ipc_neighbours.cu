// IPC: a GPU buffer of one process, mapped into another.
//
// Teaches: cudaIpcGetMemHandle turns an allocation into 64 bytes that can be sent by any means; cudaIpcOpenMemHandle
// makes a pointer of them in another process. Events travel the same way, and order streams of two processes on the
// device. Watch out: an event that was not recorded yet counts as done, so record first, then tell the others, then let
// them wait. The owner must not free the memory while others have it open: close, synchronise, free.
//
// Run: fabricbench exec --platform h100x8 --ranks 2 examples/07_ipc_neighbours.cu   (any number of ranks from 2)
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/bootstrap.h"
#include "common/check.h"

__global__ void fill(int* values, int n, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = rank * 1000000 + i;
}

// Reads the neighbour's memory through the mapped pointer, 4 bytes at a time over the link.
__global__ void pull(int* to, const int* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

int main() {
  Bootstrap bootstrap;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  if (bootstrap.world < 2) fail("needs at least 2 ranks");
  constexpr int kCount = 30011;
  constexpr int kThreads = 256, kBlocks = (kCount + kThreads - 1) / kThreads;

  int *mine = nullptr, *received = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t filled = nullptr;
  CHECK(cudaMalloc(&mine, kCount * sizeof(int)));
  CHECK(cudaMalloc(&received, kCount * sizeof(int)));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventInterprocess | cudaEventDisableTiming));
  fill<<<kBlocks, kThreads, 0, stream>>>(mine, kCount, bootstrap.rank);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(filled, stream));

  // The exchange is also the promise that every rank has recorded its event.
  struct Handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
  } handles;
  CHECK(cudaIpcGetMemHandle(&handles.memory, mine));
  CHECK(cudaIpcGetEventHandle(&handles.event, filled));
  const auto all = bootstrap.all_gather(handles);

  const int neighbour = (bootstrap.rank + 1) % bootstrap.world;
  void* theirs = nullptr;
  cudaEvent_t theirs_filled = nullptr;
  CHECK(cudaIpcOpenMemHandle(&theirs, all[neighbour].memory, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaIpcOpenEventHandle(&theirs_filled, all[neighbour].event));
  CHECK(cudaStreamWaitEvent(stream, theirs_filled, 0));
  pull<<<kBlocks, kThreads, 0, stream>>>(received, static_cast<const int*>(theirs), kCount);
  CHECK(cudaGetLastError());

  std::vector<int> host(kCount);
  CHECK(cudaMemcpyAsync(host.data(), received, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kCount; ++i) {
    const int expected = neighbour * 1000000 + i;
    if (host[i] != expected) fail("rank %d: element %d is %d, expected %d", bootstrap.rank, i, host[i], expected);
  }

  CHECK(cudaIpcCloseMemHandle(theirs));
  CHECK(cudaEventDestroy(theirs_filled));
  bootstrap.barrier();
  CHECK(cudaEventDestroy(filled));
  CHECK(cudaFree(mine));
  CHECK(cudaFree(received));
  CHECK(cudaStreamDestroy(stream));
  if (bootstrap.rank == 0) std::printf("OK each of %d ranks read its neighbour\n", bootstrap.world);
}
