// C = A × B with the tensor cores of a warp (mma.sync), bf16 into f32: A is M × K by rows, B is N × K by rows (each row
// a column of the factor), C is M × N in bf16.
#pragma once
#include <cuda_bf16.h>

#include <cstdint>

#include "gemm_f32.h"

// Four matrices of 8 × 8; lane 8m + r has the address of row r of matrix m.
__device__ inline void load_matrices(uint32_t (&to)[4], const void* row) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}

__device__ inline void multiply_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two neighbouring elements of a row of C.
__device__ inline void store_pair(__nv_bfloat16* to, float x, float y) {
  *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(x, y);
}

// Products of one warp: 64 × 8·kBlocks elements of C. at(row, k) has the address of 16 bytes of a tile.
template <int kBlocks, class AtA, class AtB>
__device__ void multiply_warp(float (&sums)[4][kBlocks][4], int k, AtA at_a, AtB at_b) {
  const int lane = threadIdx.x % 32;
  uint32_t a[4][4], b[kBlocks / 2][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) load_matrices(a[i], at_a(16 * i + lane % 16, k + lane / 16 * 8));
#pragma unroll
  for (int j = 0; j < kBlocks / 2; ++j)
    load_matrices(b[j], at_b(16 * j + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) multiply_add(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

template <int kBlocks>
__device__ void store_warp(const float (&sums)[4][kBlocks][4], int n, __nv_bfloat16* c) {
  const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      store_pair(c + (16 * i + row) * n + 8 * j + column, sums[i][j][0], sums[i][j][1]);
      store_pair(c + (16 * i + row + 8) * n + 8 * j + column, sums[i][j][2], sums[i][j][3]);
    }
  }
}

// Tiles by way of registers, rows of 64 bytes: the eight rows of a matrix lie in two groups of banks. 128 × 128 × 32,
// eight warps of 64 × 32.
__global__ void __launch_bounds__(256)
    gemm_mma(int, int n, int k, const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  __shared__ alignas(16) __nv_bfloat16 tile_a[128][32];
  __shared__ alignas(16) __nv_bfloat16 tile_b[128][32];
  const int warp = threadIdx.x / 32, row = warp / 4 * 64, column = warp % 4 * 32;
  a += blockIdx.x * 128 * k;
  b += blockIdx.y * 128 * k;
  float sums[4][4][4] = {};
  for (int first = 0; first < k; first += 32) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int at = part * 256 + threadIdx.x, y = at / 4, x = at % 4 * 8;
      *reinterpret_cast<int4*>(&tile_a[y][x]) = *reinterpret_cast<const int4*>(a + y * k + first + x);
      *reinterpret_cast<int4*>(&tile_b[y][x]) = *reinterpret_cast<const int4*>(b + y * k + first + x);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i += 16) {
      multiply_warp(
          sums, i, [&](int r, int at) { return &tile_a[row + r][at]; },
          [&](int r, int at) { return &tile_b[column + r][at]; });
    }
    __syncthreads();
  }
  store_warp(sums, n, c + (blockIdx.x * 128 + row) * n + blockIdx.y * 128 + column);
}

// Three stages of tiles that arrive by cp.async, rows of 128 bytes whose pieces of 16 bytes are exchanged by the row's
// number: the eight rows of a matrix lie in different banks. 128 × 128 × 64, four warps of 64 × 64.
struct MmaStage {
  __nv_bfloat16 a[128][64], b[128][64];
};
constexpr int kMmaStages = 3;

__device__ inline int swizzled(int row, int k) { return (k / 8 ^ row % 8) * 8; }

__global__ void __launch_bounds__(128)
    gemm_mma_pipelined(int, int n, int k, const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto* stages = reinterpret_cast<MmaStage*>(memory);
  const int warp = threadIdx.x / 32, row = warp / 2 * 64, column = warp % 2 * 64;
  a += blockIdx.x * 128 * k;
  b += blockIdx.y * 128 * k;
  const int steps = k / 64;
  const auto load = [&](int step) {
    MmaStage& stage = stages[step % kMmaStages];
    if (step < steps) {
#pragma unroll
      for (int part = 0; part < 8; ++part) {
        const int at = part * 128 + threadIdx.x, y = at / 8, x = at % 8 * 8;
        copy_async_16(&stage.a[y][swizzled(y, x)], a + y * k + step * 64 + x);
        copy_async_16(&stage.b[y][swizzled(y, x)], b + y * k + step * 64 + x);
      }
    }
    commit_copies();  // an empty group keeps the count
  };
  float sums[4][8][4] = {};
  for (int step = 0; step < kMmaStages - 1; ++step) load(step);
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<kMmaStages - 2>();
    __syncthreads();
    load(step + kMmaStages - 1);
    const MmaStage& stage = stages[step % kMmaStages];
#pragma unroll
    for (int i = 0; i < 64; i += 16) {
      multiply_warp(
          sums, i, [&](int r, int at) { return &stage.a[row + r][swizzled(r, at)]; },
          [&](int r, int at) { return &stage.b[column + r][swizzled(r, at)]; });
    }
  }
  store_warp(sums, n, c + (blockIdx.x * 128 + row) * n + blockIdx.y * 128 + column);
}
