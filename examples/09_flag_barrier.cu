// A barrier of all GPUs, inside a kernel.
//
// Teaches: thread r of a block signals its arrival by a store into the memory of rank r, and waits for rank r's flag
// in its own. Flags are pushed, not pulled: polling one's own memory costs the links nothing. Watch out: release and
// acquire must be at system scope; device scope ends at the GPU's border. Flags carry the number of the round, so that
// they need no reset (common/flags.h). All ranks must be running at the same time: the kernels of one stream after the
// other on the same GPU would wait for ever.
//
// Run: fabricbench exec --platform h100x8 --ranks 8 examples/09_flag_barrier.cu   (any number of ranks up to 72)
#include <cuda_runtime.h>

#include <cstdio>

#include "common/bootstrap.h"
#include "common/check.h"
#include "common/flags.h"
#include "common/peers.h"

struct Board {
  unsigned int flags[kMostRanks];  // flags[r] is written by rank r
  unsigned int value;              // written by its owner, read by all
  unsigned int errors;
};

// One block, with at least as many threads as ranks.
__device__ void barrier(const Peers<Board>& boards, int rank, int world, unsigned int epoch) {
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < world) {
    const int peer = static_cast<int>(threadIdx.x);
    post_flag(&boards.of[peer]->flags[rank], epoch);
    wait_flag(&boards.of[rank]->flags[peer], epoch);
  }
  __syncthreads();
}

__global__ void repeat(Peers<Board> boards, int rank, int world, unsigned int rounds) {
  const int t = static_cast<int>(threadIdx.x);
  unsigned int epoch = 0;
  for (unsigned int round = 1; round <= rounds; ++round) {
    if (t == 0) boards.of[rank]->value = round * 100 + static_cast<unsigned int>(rank);
    barrier(boards, rank, world, ++epoch);  // all have written
    if (t < world && boards.of[t]->value != round * 100 + static_cast<unsigned int>(t)) {
      atomicAdd(&boards.of[rank]->errors, 1u);
    }
    barrier(boards, rank, world, ++epoch);  // all have read: the next round may overwrite
  }
}

int main() {
  Bootstrap bootstrap;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  constexpr unsigned int kRounds = 10;

  Board* mine = nullptr;
  CHECK(cudaMalloc(&mine, sizeof(Board)));
  CHECK(cudaMemset(mine, 0, sizeof(Board)));
  CHECK(cudaDeviceSynchronize());  // the flags are zero before any other rank can reach them
  {
    const PeerBuffers buffers(bootstrap, mine);
    repeat<<<1, 96>>>(buffers.at<Board>(0), bootstrap.rank, bootstrap.world, kRounds);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  Board result;
  CHECK(cudaMemcpy(&result, mine, sizeof result, cudaMemcpyDeviceToHost));
  if (result.errors) fail("rank %d saw %u values of a wrong round", bootstrap.rank, result.errors);
  for (int r = 0; r < bootstrap.world; ++r) {
    if (result.flags[r] != 2 * kRounds) fail("rank %d: the flag of rank %d is %u", bootstrap.rank, r, result.flags[r]);
  }
  CHECK(cudaFree(mine));
  if (bootstrap.rank == 0) std::printf("OK %d ranks met %u times\n", bootstrap.world, 2 * kRounds);
}
