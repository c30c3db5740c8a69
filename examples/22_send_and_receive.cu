// Messages around a ring: each rank sends to the next one and receives from the one before.
//
// Teaches: ncclSend blocks its stream until the receive has come. If every rank sends first and receives then, on one
// stream, no receive is ever reached: all wait for each other. Between ncclGroupStart and ncclGroupEnd both progress
// together, and neither waits for the other.
// Watch out: on hardware small messages may get through in the wrong form, because they fit into a buffer on the way.
// That it worked once with small messages says nothing; the virtual node lets none through.
//
// Run: fabricbench exec --platform h100x8 --ranks 4 examples/22_send_and_receive.cu -lnccl
//      … -- wrong                 the form that hangs, and why it does
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "common/bootstrap.h"
#include "common/check.h"
#include "common/communicator.h"

int main(int argc, char** argv) {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  const bool wrong = argc > 1 && std::strcmp(argv[1], "wrong") == 0;
  constexpr int kCount = 1 << 16;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  const Communicator comm(bootstrap);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  float *send = nullptr, *receive = nullptr;
  CHECK(cudaMalloc(&send, kCount * sizeof(float)));
  CHECK(cudaMalloc(&receive, kCount * sizeof(float)));
  std::vector<float> host(kCount, static_cast<float>(rank + 1));
  CHECK(cudaMemcpy(send, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());

  const int next = (rank + 1) % world, before = (rank + world - 1) % world;
  if (!wrong) CHECK_NCCL(ncclGroupStart());
  CHECK_NCCL(ncclSend(send, kCount, ncclFloat, next, comm, stream));
  CHECK_NCCL(ncclRecv(receive, kCount, ncclFloat, before, comm, stream));
  if (!wrong) CHECK_NCCL(ncclGroupEnd());

  CHECK(cudaMemcpyAsync(host.data(), receive, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kCount; ++i) {
    if (host[i] != static_cast<float>(before + 1)) fail("rank %d: element %d is %g", rank, i, host[i]);
  }
  CHECK(cudaFree(send));
  CHECK(cudaFree(receive));
  CHECK(cudaStreamDestroy(stream));
  if (rank == 0) std::printf("OK messages around a ring of %d ranks\n", world);
}
