// The program of docs/guide/check_your_program.md: two GPUs average the neighbours of each cell and exchange their borders.
// Without -DREPAIRED it has two mistakes.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "../../examples/common/check.h"

constexpr int kCells = 64, kSteps = 4;  // cells of one GPU

struct Part {
  float cells[2][kCells + 2];     // with the borders of the neighbour; steps alternate between the two
  volatile unsigned int arrived;  // steps whose border has come
  int changed;
};
struct Parts {
  Part* of[2];
};

__device__ void send_border(Part* mine, Part* peer, int gpu, int step) {
  const int own = gpu == 0 ? kCells : 1, theirs = gpu == 0 ? 0 : kCells + 1;
  peer->cells[step % 2][theirs] = mine->cells[step % 2][own];
#ifdef REPAIRED
  __threadfence_system();
#endif
  peer->arrived = step;
}

__device__ void wait_for_border(Part* mine, int step) {
  while (mine->arrived < step) continue;
  __threadfence_system();
}

__global__ void relax(Parts parts, int gpu) {
  Part *mine = parts.of[gpu], *peer = parts.of[1 - gpu];
  const int i = static_cast<int>(threadIdx.x) + 1;
  for (int step = 1; step <= kSteps; ++step) {
    if (threadIdx.x == 0) {
      send_border(mine, peer, gpu, step);
      wait_for_border(mine, step);
    }
    __syncthreads();
    const float* now = mine->cells[step % 2];
    float* next = mine->cells[(step + 1) % 2];
    next[i] = (now[i - 1] + now[i] + now[i + 1]) / 3;
    if (next[i] != now[i]) mine->changed = 1;
#ifdef REPAIRED
    __syncthreads();
#endif
  }
}

int main() {
  Parts parts{};
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
    CHECK(cudaMalloc(&parts.of[gpu], sizeof(Part)));
    std::vector<char> start(sizeof(Part));
    auto* cells = reinterpret_cast<Part*>(start.data())->cells[1];
    for (int i = 1; i <= kCells; ++i) cells[i] = static_cast<float>((gpu * kCells + i) % 7);
    CHECK(cudaMemcpy(parts.of[gpu], start.data(), start.size(), cudaMemcpyHostToDevice));
  }
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    relax<<<1, kCells>>>(parts, gpu);
  }
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaDeviceSynchronize());
  }
  std::printf("OK %d steps\n", kSteps);
}
