// A program of docs/guide/profile.md: a barrier of eight GPUs, several times. `slow`: a token goes round twice, once to
// collect and once to release. `repaired`: each GPU posts a flag to every other one.
#include <cuda_runtime.h>

#include <cstring>

#include "../../examples/common/check.h"
#include "../../examples/common/flags.h"

constexpr int kGpus = 8;
constexpr unsigned int kBarriers = 8;

// Each GPU has a flag for every sender.
struct Flags {
  unsigned int* of[kGpus];
};

// [slow]
__global__ void token(Flags flags, int gpu) {
  const int next = (gpu + 1) % kGpus, before = (gpu + kGpus - 1) % kGpus;
  for (unsigned int round = 1; round <= 2 * kBarriers; ++round) {
    if (gpu != 0) wait_flag(&flags.of[gpu][before], round);
    post_flag(&flags.of[next][gpu], round);
    if (gpu == 0) wait_flag(&flags.of[gpu][before], round);
  }
}
// [/slow]

// [repaired]
__global__ void all_at_once(Flags flags, int gpu) {
  const int peer = threadIdx.x;
  for (unsigned int round = 1; round <= kBarriers; ++round) {
    if (peer != gpu) {
      post_flag(&flags.of[peer][gpu], round);
      wait_flag(&flags.of[gpu][peer], round);
    }
    __syncwarp((1u << kGpus) - 1);
  }
}
// [/repaired]

int main(int count, char** values) {
  const bool repaired = count > 1 && std::strcmp(values[1], "repaired") == 0;
  Flags flags{};
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    for (int peer = 0; peer < kGpus; ++peer) {
      if (peer != gpu) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    }
    CHECK(cudaMalloc(&flags.of[gpu], kGpus * sizeof(unsigned int)));
    CHECK(cudaMemset(flags.of[gpu], 0, kGpus * sizeof(unsigned int)));
    CHECK(cudaDeviceSynchronize());
  }
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    if (repaired) {
      all_at_once<<<1, kGpus>>>(flags, gpu);
    } else {
      token<<<1, 1>>>(flags, gpu);
    }
    CHECK(cudaGetLastError());
  }
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaDeviceSynchronize());
  }
}
