// A kernel that writes into another GPU's memory.
//
// Teaches: with peer access a device pointer means the same on both GPUs, so a kernel on device 0 stores straight into
// the memory of device 1. 16-byte stores make full use of the link: many small ones would be sent as many small
// packets. Watch out: the pointers must be multiples of 16 for that; the last bytes that fill no 16 go one by one.
// Without cudaDeviceEnablePeerAccess the store is an illegal access and the context is lost. The reader waits for the
// writer's event: the end of a kernel makes its writes visible to every stream that waits for it.
//
// Run: fabricbench exec --platform h100x8 --ranks 1 examples/06_push_through_peer_pointer.cu   (needs two linked GPUs)
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/check.h"

__global__ void push(char* peer, const char* mine, size_t bytes) {
  const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  const size_t vectors = bytes / sizeof(uint4);
  for (size_t i = thread; i < vectors; i += threads) {
    reinterpret_cast<uint4*>(peer)[i] = reinterpret_cast<const uint4*>(mine)[i];
  }
  for (size_t i = vectors * sizeof(uint4) + thread; i < bytes; i += threads) peer[i] = mine[i];
}

__global__ void count_differences(const char* values, size_t bytes, unsigned int* differences) {
  const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = thread; i < bytes; i += threads) {
    if (values[i] != static_cast<char>(i * 11)) atomicAdd(differences, 1);
  }
}

int main() {
  constexpr size_t kBytes = (1 << 18) + 13;
  int devices = 0, reachable = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices >= 2) CHECK(cudaDeviceCanAccessPeer(&reachable, 0, 1));
  if (!reachable) {
    std::printf("OK skipped: device 0 can't access the memory of device 1\n");
    return 0;
  }

  char* target = nullptr;
  unsigned int* differences = nullptr;
  cudaStream_t reader = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&target, kBytes));
  CHECK(cudaMalloc(&differences, sizeof *differences));
  CHECK(cudaMemset(differences, 0, sizeof *differences));
  CHECK(cudaStreamCreate(&reader));

  char* source = nullptr;
  cudaStream_t writer = nullptr;
  cudaEvent_t pushed = nullptr;
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  CHECK(cudaMalloc(&source, kBytes));
  CHECK(cudaStreamCreate(&writer));
  CHECK(cudaEventCreateWithFlags(&pushed, cudaEventDisableTiming));
  std::vector<char> host(kBytes);
  for (size_t i = 0; i < kBytes; ++i) host[i] = static_cast<char>(i * 11);
  CHECK(cudaMemcpy(source, host.data(), kBytes, cudaMemcpyHostToDevice));

  push<<<16, 256, 0, writer>>>(target, source, kBytes);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(pushed, writer));

  CHECK(cudaSetDevice(1));
  CHECK(cudaStreamWaitEvent(reader, pushed, 0));
  count_differences<<<16, 256, 0, reader>>>(target, kBytes, differences);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(reader));
  unsigned int wrong = 0;
  CHECK(cudaMemcpy(&wrong, differences, sizeof wrong, cudaMemcpyDeviceToHost));
  if (wrong) fail("%u of %zu bytes differ", wrong, kBytes);

  CHECK(cudaStreamDestroy(reader));
  CHECK(cudaFree(target));
  CHECK(cudaFree(differences));
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamDestroy(writer));
  CHECK(cudaEventDestroy(pushed));
  CHECK(cudaFree(source));
  std::printf("OK pushed %zu bytes to a peer\n", kBytes);
}
