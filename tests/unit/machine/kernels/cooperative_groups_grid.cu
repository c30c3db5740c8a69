// grid_group: a barrier over all blocks.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// run: grid_sync grid=6 block=64 shared=0 cooperative=1
// in:  i32[384] = random 81
// out: i32[384]
// Each round every thread reads what a thread of another block wrote in the round before.
extern "C" __global__ void grid_sync(const int* in, int* out, int n) {
  const auto grid = cg::this_grid();
  const int i = int(grid.thread_rank());
  out[i] = in[i];
  for (int round = 0; round < 5; ++round) {
    grid.sync();
    const int other = out[(i + 100) % n];
    grid.sync();
    out[i] = out[i] + other;
  }
}
extern "C" void expect_grid_sync(const int* in, int* out, int n) {
  auto* values = reinterpret_cast<unsigned*>(out);
  static unsigned next[384];
  for (int i = 0; i < n; ++i) values[i] = unsigned(in[i]);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < n; ++i) next[i] = values[i] + values[(i + 100) % n];
    for (int i = 0; i < n; ++i) values[i] = next[i];
  }
}

// run: grid_shape grid=2,3,1 block=8,2,1 shared=0 cooperative=1
// in:  i32[1] = const 0
// out: i32[288]
extern "C" __global__ void grid_shape(const int* in, int* out, int n) {
  const auto grid = cg::this_grid();
  int* r = out + 3 * grid.thread_rank();
  r[0] = int(grid.block_rank());
  r[1] = int(grid.num_blocks() * 1000 + grid.size());
  r[2] = int(grid.group_dim().x * 10 + grid.group_dim().y) * (grid.is_valid() ? 1 : -1);
}
extern "C" void expect_grid_shape(const int* in, int* out, int n) {
  for (int i = 0; i < 96; ++i) {
    out[3 * i] = i / 16;
    out[3 * i + 1] = 6096;
    out[3 * i + 2] = 23;
  }
}

// run: not_cooperative grid=2 block=32 shared=0
// in:  i32[1] = const 0
// out: i32[1]
// expect: list 0
extern "C" __global__ void not_cooperative(const int* in, int* out, int n) {
  if (cg::this_grid().is_valid()) *out = 1;
}

// The group as a parameter, by reference and by value.
__device__ unsigned first_then_last(const cg::grid_group& grid, unsigned* word) {
  if (grid.thread_rank() == 0) *word = 3;
  grid.sync();
  return *word;
}
__device__ void wait_for_all(cg::grid_group grid) { cg::sync(grid); }

// run: grid_parameter grid=3 block=32 shared=0 cooperative=1
// in:  u32[1] = const 4
// out: u32[97]
extern "C" __global__ void grid_parameter(const unsigned* in, unsigned* out, int n) {
  cg::grid_group grid = cg::this_grid();
  const unsigned seen = first_then_last(grid, &out[96]);
  wait_for_all(grid);
  if (grid.thread_rank() == grid.size() - 1) out[96] = *in;
  wait_for_all(grid);
  out[grid.thread_rank()] = 10 * seen + out[96];
}
extern "C" void expect_grid_parameter(const unsigned* in, unsigned* out, int n) {
  for (int i = 0; i < 96; ++i) out[i] = 30 + *in;
  out[96] = *in;
}
