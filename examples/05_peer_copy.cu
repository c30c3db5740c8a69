// Peer copy: one process, all its GPUs, and a buffer that travels around them.
//
// Teaches: cudaSetDevice chooses where allocations and streams are made; cudaMemcpyPeerAsync copies between two
// devices; an event recorded on one device's stream orders work on another's, so the host only enqueues and waits once
// at the end. Watch out: with peer access enabled the copy goes straight over the link; without, CUDA takes a detour
// through host memory: slower, with the same result. Peer access has a direction: enable it once for each.
//
// Run: fabricbench exec --platform h100x8 --ranks 1 examples/05_peer_copy.cu
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/check.h"

__global__ void increment(unsigned char* bytes, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bytes[i] += 1;
}

int main() {
  constexpr int kBytes = 70001;
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));

  std::vector<unsigned char*> buffer(devices);
  std::vector<cudaStream_t> stream(devices);
  std::vector<cudaEvent_t> done(devices);
  int links = 0;
  for (int d = 0; d < devices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaMalloc(&buffer[d], kBytes));
    CHECK(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done[d], cudaEventDisableTiming));
    const int next = (d + 1) % devices;
    int reachable = 0;
    if (next != d) CHECK(cudaDeviceCanAccessPeer(&reachable, d, next));
    if (reachable) CHECK(cudaDeviceEnablePeerAccess(next, 0));
    links += reachable;
  }

  // Device 0 has the first version; each device adds 1 and passes it on.
  std::vector<unsigned char> host(kBytes);
  for (int i = 0; i < kBytes; ++i) host[i] = static_cast<unsigned char>(i * 7);
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemcpy(buffer[0], host.data(), kBytes, cudaMemcpyHostToDevice));
  for (int d = 0; d < devices; ++d) {
    CHECK(cudaSetDevice(d));
    if (d > 0) CHECK(cudaStreamWaitEvent(stream[d], done[d - 1], 0));
    increment<<<(kBytes + 255) / 256, 256, 0, stream[d]>>>(buffer[d], kBytes);
    CHECK(cudaGetLastError());
    const int next = (d + 1) % devices;
    CHECK(cudaMemcpyPeerAsync(buffer[next], next, buffer[d], d, kBytes, stream[d]));
    CHECK(cudaEventRecord(done[d], stream[d]));
  }
  CHECK(cudaEventSynchronize(done[devices - 1]));

  std::vector<unsigned char> result(kBytes);
  CHECK(cudaMemcpy(result.data(), buffer[0], kBytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kBytes; ++i) {
    const auto expected = static_cast<unsigned char>(host[i] + devices);
    if (result[i] != expected) fail("byte %d is %d, expected %d", i, result[i], expected);
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaEventDestroy(done[d]));
    CHECK(cudaStreamDestroy(stream[d]));
    CHECK(cudaFree(buffer[d]));
  }
  std::printf("OK around %d devices, %d hops by peer access\n", devices, links);
}
