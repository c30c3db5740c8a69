// Products of matrices without #pragma unroll, as they are written for the first time.
#include <cuda_pipeline.h>
#include <mma.h>

#include "suite.h"

constexpr int kSize = 256;

__global__ void plain(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

__global__ void shared_tile(const float* a, const float* b, float* c, int n) {
  __shared__ float as[32][32], bs[32][32];
  const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += 32) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

template <int BM, int BN, int BK, int TM, int TN>
__global__ void register_tile(const float* a, const float* b, float* c, int n) {
  __shared__ float as[BK][BM], bs[BK][BN];
  constexpr int kThreads = BM * BN / (TM * TN);
  const int x = threadIdx.x % (BN / TN), y = threadIdx.x / (BN / TN);
  float sum[TM][TN] = {}, left[TM], right[TN];
  for (int t = 0; t < n; t += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += kThreads)
      as[i % BK][i / BK] = a[(blockIdx.y * BM + i / BK) * n + t + i % BK];
    for (int i = threadIdx.x; i < BK * BN; i += kThreads)
      bs[i / BN][i % BN] = b[(t + i / BN) * n + blockIdx.x * BN + i % BN];
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      for (int m = 0; m < TM; ++m) left[m] = as[k][y * TM + m];
      for (int m = 0; m < TN; ++m) right[m] = bs[k][x * TN + m];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) c[(blockIdx.y * BM + y * TM + i) * n + blockIdx.x * BN + x * TN + j] = sum[i][j];
}

// Loads of four floats through casts, and copies that run ahead.
__global__ void with_copies_ahead(const float* a, const float* b, float* c, int n) {
  constexpr int kTile = 64, kDepth = 16;
  __shared__ alignas(16) float as[2][kTile * kDepth], bs[2][kDepth * kTile];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float sum[4][4] = {};
  auto fetch = [&](int stage, int t) {
    const int i = threadIdx.x * 4;
    __pipeline_memcpy_async(&as[stage][i], &a[(blockIdx.y * kTile + i / kDepth) * n + t + i % kDepth], 16);
    __pipeline_memcpy_async(&bs[stage][i], &b[(t + i / kTile) * n + blockIdx.x * kTile + i % kTile], 16);
    __pipeline_commit();
  };
  fetch(0, 0);
  for (int t = 0, stage = 0; t < n; t += kDepth, stage ^= 1) {
    if (t + kDepth < n) fetch(stage ^ 1, t + kDepth);
    __pipeline_wait_prior(t + kDepth < n ? 1 : 0);
    __syncthreads();
    for (int k = 0; k < kDepth; ++k) {
      const float4 right = *reinterpret_cast<const float4*>(&bs[stage][k * kTile + 4 * x]);
      for (int i = 0; i < 4; ++i) {
        const float left = as[stage][(4 * y + i) * kDepth + k];
        sum[i][0] += left * right.x;
        sum[i][1] += left * right.y;
        sum[i][2] += left * right.z;
        sum[i][3] += left * right.w;
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    *reinterpret_cast<float4*>(&c[(blockIdx.y * kTile + 4 * y + i) * n + blockIdx.x * kTile + 4 * x]) =
        *reinterpret_cast<float4*>(sum[i]);
}

__global__ void tensor_cores(const __half* a, const __half* b, float* c, int n) {
  using namespace nvcuda;
  const int warp = threadIdx.x / 32, row = (blockIdx.y * 4 + warp) * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
    wmma::load_matrix_sync(left, a + row * n + k, n);
    wmma::load_matrix_sync(right, b + k * n + column, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

int main() {
  constexpr int n = kSize;
  Array<float> a(n * n), b(n * n), c(n * n);
  plain<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a.data, b.data, c.data, n);
  c.print("plain");
  shared_tile<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a.data, b.data, c.data, n);
  c.print("shared_tile");
  register_tile<64, 64, 8, 4, 4><<<dim3(n / 64, n / 64), 256>>>(a.data, b.data, c.data, n);
  c.print("register_tile 4x4");
  register_tile<128, 128, 8, 8, 8><<<dim3(n / 128, n / 128), 256>>>(a.data, b.data, c.data, n);
  c.print("register_tile 8x8");
  with_copies_ahead<<<dim3(n / 64, n / 64), 256>>>(a.data, b.data, c.data, n);
  c.print("with_copies_ahead");
  Array<__half> ha(n * n), hb(n * n);
  tensor_cores<<<dim3(n / 16, n / 64), 128>>>(ha.data, hb.data, c.data, n);
  c.print("tensor_cores");
}
