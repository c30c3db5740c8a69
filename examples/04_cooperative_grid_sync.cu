// Cooperative launch: a barrier of all blocks of a grid, inside the kernel.
//
// Teaches: grid.sync() and cudaLaunchCooperativeKernel. Each step reads what other blocks wrote in the step before, so
// all blocks synchronise between steps; without it each step would be a launch of its own.
// Watch out: all blocks must be on the device at once, or those that wait would keep the others out for ever. The
// launch checks it (cudaErrorCooperativeLaunchTooLarge); the occupancy functions say how many blocks fit.
//
// Run: fabricbench exec --platform h100x8 --ranks 1 examples/04_cooperative_grid_sync.cu
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/check.h"

// A ring of cells; in each step a cell becomes the sum of itself and its two neighbours.
__global__ void diffuse(unsigned int* now, unsigned int* next, int n, int steps) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (int step = 0; step < steps; ++step) {
    for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size())) {
      next[i] = now[(i + n - 1) % n] + now[i] + now[(i + 1) % n];
    }
    grid.sync();
    unsigned int* const swapped = now;
    now = next;
    next = swapped;
  }
}

int main() {
  int count = 5003, steps = 7;
  int device = 0, cooperative = 0, multiprocessors = 0, blocks_each = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device));
  if (!cooperative) fail("the device has no cooperative launch");
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));

  constexpr int kThreads = 128;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, diffuse, kThreads, 0));
  const int blocks = std::min(blocks_each * multiprocessors, (count + kThreads - 1) / kThreads);

  std::vector<unsigned int> cells(count), expected(count), previous(count);
  for (int i = 0; i < count; ++i) cells[i] = static_cast<unsigned int>(i * i % 97);
  const size_t bytes = cells.size() * sizeof(unsigned int);
  unsigned int *now = nullptr, *next = nullptr;
  CHECK(cudaMalloc(&now, bytes));
  CHECK(cudaMalloc(&next, bytes));
  CHECK(cudaMemcpy(now, cells.data(), bytes, cudaMemcpyHostToDevice));

  void* arguments[] = {&now, &next, &count, &steps};
  CHECK(cudaLaunchCooperativeKernel(diffuse, dim3(blocks), dim3(kThreads), arguments, 0, nullptr));
  CHECK(cudaDeviceSynchronize());

  expected = cells;
  for (int step = 0; step < steps; ++step) {
    previous.swap(expected);
    for (int i = 0; i < count; ++i) {
      expected[i] = previous[(i + count - 1) % count] + previous[i] + previous[(i + 1) % count];
    }
  }
  CHECK(cudaMemcpy(cells.data(), steps % 2 ? next : now, bytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < count; ++i) {
    if (cells[i] != expected[i]) fail("cell %d is %u, expected %u", i, cells[i], expected[i]);
  }
  CHECK(cudaFree(now));
  CHECK(cudaFree(next));
  std::printf("OK %d blocks met %d times\n", blocks, steps);
}
