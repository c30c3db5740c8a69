// C = A × B without tensor cores, f32: A is M × K, B is K × N, C is M × N, all by rows. Sizes are multiples of the
// tiles.
#pragma once

// 8 × 8 sums of a thread, from registers.
__device__ inline void add_products(float (&sums)[8][8], const float (&rows)[8], const float (&columns)[8]) {
#pragma unroll
  for (int r = 0; r < 8; ++r) {
#pragma unroll
    for (int q = 0; q < 8; ++q) sums[r][q] += rows[r] * columns[q];
  }
}

// One thread for one element; neighbouring threads have neighbouring rows, so each load of A by a warp touches 32
// lines.
__global__ void gemm_naive(int, int n, int k, const float* a, const float* b, float* c) {
  const int row = blockIdx.x * 32 + threadIdx.x % 32, column = blockIdx.y * 32 + threadIdx.x / 32;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

// Neighbouring threads have neighbouring columns: B is read by lines, A by broadcast.
__global__ void gemm_coalesced(int, int n, int k, const float* a, const float* b, float* c) {
  const int row = blockIdx.x * 32 + threadIdx.x / 32, column = blockIdx.y * 32 + threadIdx.x % 32;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

// Tiles of 32 × 32 in shared memory: each element is read from memory once for 32 uses.
__global__ void gemm_shared(int, int n, int k, const float* a, const float* b, float* c) {
  __shared__ float tile_a[32][32], tile_b[32][32];
  const int y = threadIdx.x / 32, x = threadIdx.x % 32;
  const int row = blockIdx.x * 32 + y, column = blockIdx.y * 32 + x;
  float sum = 0;
  for (int first = 0; first < k; first += 32) {
    tile_a[y][x] = a[row * k + first + x];
    tile_b[y][x] = b[(first + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// A thread has eight rows of one column in registers: a value of B serves eight times. 64 × 64 × 8, 512 threads.
__global__ void __launch_bounds__(512) gemm_registers_1d(int, int n, int k, const float* a, const float* b, float* c) {
  __shared__ float tile_a[64][8], tile_b[8][64];
  const int x = threadIdx.x % 64, y = threadIdx.x / 64 * 8;
  const float* from_a = a + (blockIdx.x * 64 + threadIdx.x / 8) * k + threadIdx.x % 8;
  const float* from_b = b + threadIdx.x / 64 * n + blockIdx.y * 64 + x;
  float sums[8] = {};
  for (int first = 0; first < k; first += 8) {
    tile_a[threadIdx.x / 8][threadIdx.x % 8] = from_a[first];
    tile_b[threadIdx.x / 64][x] = from_b[first * n];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float value = tile_b[i][x];
#pragma unroll
      for (int r = 0; r < 8; ++r) sums[r] += tile_a[y + r][i] * value;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 8; ++r) c[(blockIdx.x * 64 + y + r) * n + blockIdx.y * 64 + x] = sums[r];
}

// A thread has 8 × 8 elements: 16 values from shared memory serve 64 multiplications. 128 × 128 × 8, 256 threads.
__global__ void __launch_bounds__(256, 2)
    gemm_registers_2d(int, int n, int k, const float* a, const float* b, float* c) {
  __shared__ float tile_a[128][8], tile_b[8][128];
  const int x = threadIdx.x % 16 * 8, y = threadIdx.x / 16 * 8;
  a += blockIdx.x * 128 * k;
  b += blockIdx.y * 128;
  float sums[8][8] = {};
  for (int first = 0; first < k; first += 8) {
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const int at = part * 256 + threadIdx.x;
      tile_a[at / 8][at % 8] = a[at / 8 * k + first + at % 8];
      tile_b[at / 128][at % 128] = b[(first + at / 128) * n + at % 128];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float rows[8], columns[8];
#pragma unroll
      for (int r = 0; r < 8; ++r) rows[r] = tile_a[y + r][i];
#pragma unroll
      for (int q = 0; q < 8; ++q) columns[q] = tile_b[i][x + q];
      add_products(sums, rows, columns);
    }
    __syncthreads();
  }
  c += blockIdx.x * 128 * n + blockIdx.y * 128;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
#pragma unroll
    for (int q = 0; q < 8; ++q) c[(y + r) * n + x + q] = sums[r][q];
  }
}

__device__ inline float4& as_float4(float& x) { return reinterpret_cast<float4&>(x); }
__device__ inline const float4& as_float4(const float& x) { return reinterpret_cast<const float4&>(x); }

// All accesses are of 16 bytes; A is transposed on its way into shared memory.
__global__ void __launch_bounds__(256, 2) gemm_vectorised(int, int n, int k, const float* a, const float* b, float* c) {
  __shared__ alignas(16) float tile_a[8][128];
  __shared__ alignas(16) float tile_b[8][128];
  const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;  // and 64 further
  const int row_a = threadIdx.x / 2, k_a = threadIdx.x % 2 * 4;
  const int k_b = threadIdx.x / 32, column_b = threadIdx.x % 32 * 4;
  a += (blockIdx.x * 128 + row_a) * k + k_a;
  b += k_b * n + blockIdx.y * 128 + column_b;
  float sums[8][8] = {};
  for (int first = 0; first < k; first += 8) {
    const float4 part = as_float4(a[first]);
    tile_a[k_a][row_a] = part.x;
    tile_a[k_a + 1][row_a] = part.y;
    tile_a[k_a + 2][row_a] = part.z;
    tile_a[k_a + 3][row_a] = part.w;
    as_float4(tile_b[k_b][column_b]) = as_float4(b[first * n]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      alignas(16) float rows[8], columns[8];
      as_float4(rows[0]) = as_float4(tile_a[i][y]);
      as_float4(rows[4]) = as_float4(tile_a[i][y + 64]);
      as_float4(columns[0]) = as_float4(tile_b[i][x]);
      as_float4(columns[4]) = as_float4(tile_b[i][x + 64]);
      add_products(sums, rows, columns);
    }
    __syncthreads();
  }
  c += blockIdx.x * 128 * n + blockIdx.y * 128;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
#pragma unroll
    for (int q = 0; q < 8; q += 4) {
      as_float4(c[(y + r % 4 + r / 4 * 64) * n + x + q * 16]) =
          make_float4(sums[r][q], sums[r][q + 1], sums[r][q + 2], sums[r][q + 3]);
    }
  }
}

__device__ inline void copy_async_16(void* to, const void* from) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kNewest>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
}

// The next tiles arrive while these are multiplied. Rows of A are padded, so that the rows of neighbouring threads are
// in other banks. 128 × 128 × 16.
__global__ void __launch_bounds__(256, 2)
    gemm_double_buffer(int, int n, int k, const float* a, const float* b, float* c) {
  __shared__ alignas(16) float tile_a[2][128][20];
  __shared__ alignas(16) float tile_b[2][16][128];
  const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16;  // columns x … + 3 and 64 further; rows y, y + 16, …
  a += blockIdx.x * 128 * k;
  b += blockIdx.y * 128;
  const auto load = [&](int first, int buffer) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int at = part * 256 + threadIdx.x;
      copy_async_16(&tile_a[buffer][at / 4][at % 4 * 4], a + at / 4 * k + first + at % 4 * 4);
      copy_async_16(&tile_b[buffer][at / 32][at % 32 * 4], b + (first + at / 32) * n + at % 32 * 4);
    }
    commit_copies();
  };
  float sums[8][8] = {};
  load(0, 0);
  for (int first = 0, buffer = 0; first < k; first += 16, buffer ^= 1) {
    wait_for_copies<0>();
    __syncthreads();
    if (first + 16 < k) load(first + 16, buffer ^ 1);
#pragma unroll
    for (int i = 0; i < 16; i += 4) {
      alignas(16) float rows[8][4];
#pragma unroll
      for (int r = 0; r < 8; ++r) as_float4(rows[r][0]) = as_float4(tile_a[buffer][y + 16 * r][i]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        alignas(16) float columns[8];
        as_float4(columns[0]) = as_float4(tile_b[buffer][i + j][x]);
        as_float4(columns[4]) = as_float4(tile_b[buffer][i + j][x + 64]);
#pragma unroll
        for (int r = 0; r < 8; ++r) {
#pragma unroll
          for (int q = 0; q < 8; ++q) sums[r][q] += rows[r][j] * columns[q];
        }
      }
    }
  }
  c += blockIdx.x * 128 * n + blockIdx.y * 128;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
#pragma unroll
    for (int q = 0; q < 8; q += 4) {
      as_float4(c[(y + 16 * r) * n + x + q * 16]) =
          make_float4(sums[r][q], sums[r][q + 1], sums[r][q + 2], sums[r][q + 3]);
    }
  }
}
