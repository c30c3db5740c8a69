// Tiles of a warp: ranks, shuffles, votes, reductions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// run: tile_ranks grid=2 block=64 shared=0
// in:  u32[1] = const 0
// out: u32[512]
extern "C" __global__ void tile_ranks(const unsigned* in, unsigned* out, int n) {
  const auto block = cg::this_thread_block();
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  const auto pair = cg::tiled_partition<2>(cg::tiled_partition<8>(block));
  unsigned* r = out + 4 * (blockIdx.x * block.size() + block.thread_rank());
  r[0] = tile.thread_rank();
  r[1] = tile.meta_group_rank();
  r[2] = tile.meta_group_size() + 100 * tile.size();
  r[3] = block.group_index().x + 10 * pair.meta_group_rank() + 100 * pair.meta_group_size();
  block.sync();
}
extern "C" void expect_tile_ranks(const unsigned* in, unsigned* out, int n) {
  for (unsigned i = 0; i < 128; ++i) {
    out[4 * i] = i % 8;
    out[4 * i + 1] = i % 64 / 8;
    out[4 * i + 2] = 8 + 800;
    out[4 * i + 3] = i / 64 + 10 * (i % 8 / 2) + 400;
  }
}

// run: tile_shuffles grid=1 block=32 shared=0
// in:  f64[32] = random 71
// out: f64[160]
extern "C" __global__ void tile_shuffles(const double* in, double* out, int n) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const double v = in[threadIdx.x];
  double* r = out + 5 * threadIdx.x;
  r[0] = tile.shfl(v, 3);
  r[1] = tile.shfl_up(v, 1);
  r[2] = tile.shfl_down(v, 2);
  r[3] = tile.shfl_xor(v, 5);
  tile.sync();
  r[4] = tile.ballot(v > 0) + 1000 * (tile.any(v > 0.5) != 0) + 2000 * (tile.all(v > -0.9) != 0);
}
extern "C" void expect_tile_shuffles(const double* in, double* out, int n) {
  for (int i = 0; i < n; ++i) {
    const double* t = in + i / 8 * 8;
    const int rank = i % 8;
    double* r = out + 5 * i;
    r[0] = t[3];
    r[1] = t[rank ? rank - 1 : 0];
    r[2] = t[rank + 2 < 8 ? rank + 2 : rank];
    r[3] = t[rank ^ 5];
    bool any = false, all = true;
    for (int k = 0; k < 8; ++k) {
      r[4] += t[k] > 0 ? 1 << k : 0;
      any = any || t[k] > 0.5;
      all = all && t[k] > -0.9;
    }
    r[4] += 1000 * any + 2000 * all;
  }
}

// run: tile_reduce grid=1 block=64 shared=0
// in:  i32[64] = random 72
// out: i32[256]
extern "C" __global__ void tile_reduce(const int* in, int* out, int n) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto quad = cg::tiled_partition<4>(warp);
  const int v = in[threadIdx.x];
  int* r = out + 4 * threadIdx.x;
  r[0] = cg::reduce(warp, v >> 6, cg::plus<int>());
  r[1] = cg::reduce(quad, v, cg::greater<int>());
  r[2] = cg::reduce(quad, v, cg::less<int>());
  r[3] = cg::reduce(warp, v, cg::bit_xor<int>());
}
extern "C" void expect_tile_reduce(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    int* r = out + 4 * i;
    const int *warp = in + i / 32 * 32, *quad = in + i / 4 * 4;
    r[1] = r[2] = quad[0];
    for (int k = 0; k < 32; ++k) {
      r[0] += warp[k] >> 6;
      r[3] ^= warp[k];
      if (k < 4 && quad[k] > r[1]) r[1] = quad[k];
      if (k < 4 && quad[k] < r[2]) r[2] = quad[k];
    }
  }
}

// run: coalesced grid=1 block=32 shared=0
// in:  i32[32] = random 73
// out: i32[160]
extern "C" __global__ void coalesced(const int* in, int* out, int n) {
  const int v = in[threadIdx.x];
  int* r = out + 5 * threadIdx.x;
  if (v > 0) {
    const auto group = cg::coalesced_threads();
    r[0] = int(group.thread_rank());
    r[1] = int(group.size());
    r[2] = group.shfl(v, 0);
    r[3] = cg::reduce(group, v >> 6, cg::plus<int>());
    r[4] = int(group.ballot(v & 1));
  }
}
extern "C" void expect_coalesced(const int* in, int* out, int n) {
  int size = 0, sum = 0, ballot = 0, first = 0;
  for (int i = 0; i < n; ++i) {
    if (in[i] <= 0) continue;
    if (size == 0) first = in[i];
    if (in[i] & 1) ballot |= 1 << size;
    sum += in[i] >> 6;
    out[5 * i] = size++;
  }
  for (int i = 0; i < n; ++i) {
    if (in[i] <= 0) continue;
    out[5 * i + 1] = size;
    out[5 * i + 2] = first;
    out[5 * i + 3] = sum;
    out[5 * i + 4] = ballot;
  }
}

// Adds up the values of any group's threads in scratch memory; all of them get the sum.
__device__ int sum_of(cg::thread_group group, int* scratch, int value) {
  scratch[group.thread_rank()] = value;
  group.sync();
  int sum = 0;
  for (unsigned rank = 0; rank < group.size(); ++rank) sum += scratch[rank];
  group.sync();
  return sum;
}

// run: any_group grid=1 block=64 shared=0
// in:  i32[64] = iota 1
// out: i32[256]
extern "C" __global__ void any_group(const int* in, int* out, int n) {
  __shared__ int scratch[64];
  const auto block = cg::this_thread_block();
  const int i = int(block.thread_rank());
  int* r = out + 4 * i;
  r[0] = sum_of(block, scratch, in[i]);
  r[1] = sum_of(cg::tiled_partition<16>(block), scratch + i / 16 * 16, in[i]);
  r[2] = sum_of(cg::tiled_partition(block, 8), scratch + i / 8 * 8, in[i]);
  if (i % 2 == 0) {
    const auto even = cg::coalesced_threads();
    r[3] = sum_of(even, scratch + i / 32 * 32, in[i]) +
           10000 * sum_of(cg::tiled_partition(even, 4), scratch + i / 8 * 8, 1);
  }
}
extern "C" void expect_any_group(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < n; ++k) {
      out[4 * i] += in[k];
      if (k / 16 == i / 16) out[4 * i + 1] += in[k];
      if (k / 8 == i / 8) out[4 * i + 2] += in[k];
      if (k / 32 == i / 32 && k % 2 == 0 && i % 2 == 0) out[4 * i + 3] += in[k];
    }
    if (i % 2 == 0) out[4 * i + 3] += 40000;
  }
}
