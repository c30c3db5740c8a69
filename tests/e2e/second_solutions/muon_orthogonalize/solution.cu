// All steps are polynomials in G = M Mᵀ, which is summed over ranks once, by an all-reduce of NCCL. One block then
// computes the product P of the five factors a + b A + c A A, where A becomes Q A Q from step to step, and a last
// kernel multiplies this rank's columns by P / norm.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>

constexpr int kRows = 64;  // at most
constexpr int kSteps = 5;
constexpr int kThreads = 256;
constexpr int kColumns = 32;  // of a block of multiply

// Block i has row i of M Mᵀ over this rank's columns, a warp for each number.
__global__ void gram(Args args, float* g) {
  const int64_t i = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int64_t k = threadIdx.x / 32; k < args.rows; k += kThreads / 32) {
    float sum = 0;
    for (int64_t j = lane; j < args.cols; j += 32) sum += args.m[i * args.cols + j] * args.m[k * args.cols + j];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (lane == 0) g[i * args.rows + k] = sum;
  }
}

struct __align__(16) Matrix {
  float at[kRows][kRows];
};

// Four by four numbers of xᵀ y, which is x y: all matrices here are symmetric, and rows are what can be read as
// vectors.
struct Tile {
  float sum[4][4];
  int row = static_cast<int>(threadIdx.x) / 16 * 4;
  int column = static_cast<int>(threadIdx.x) % 16 * 4;

  __device__ void product(const Matrix& x, const Matrix& y, int rows) {
    for (auto& line : sum) {
      for (float& value : line) value = 0;
    }
    if (row >= rows || column >= rows) return;
#pragma unroll 4
    for (int k = 0; k < rows; ++k) {
      const float4 left = reinterpret_cast<const float4*>(x.at[k])[row / 4];
      const float4 right = reinterpret_cast<const float4*>(y.at[k])[column / 4];
      const float of_left[4] = {left.x, left.y, left.z, left.w};
      const float of_right[4] = {right.x, right.y, right.z, right.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += of_left[i] * of_right[j];
      }
    }
  }
  // The result may be a factor: all threads have read it before any writes, and have written before any goes on.
  __device__ void store(Matrix& to) const {
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) to.at[row + i][column + j] = sum[i][j];
    }
    __syncthreads();
  }
};

// One block: p = P / norm, [rows][rows].
__global__ void __launch_bounds__(kThreads) polynomial(const float* g, int rows, float* p) {
  __shared__ Matrix a;
  __shared__ Matrix q;
  __shared__ Matrix all;
  float trace = 0;
  for (int i = 0; i < rows; ++i) trace += g[i * rows + i];
  const float norm = fmaxf(sqrtf(trace), 1e-7f);
  // Tiles at the edge read beyond `rows` as well: there are numbers that go nowhere.
  for (int at = static_cast<int>(threadIdx.x); at < kRows * kRows; at += kThreads) {
    const int i = at / kRows;
    const int k = at % kRows;
    a.at[i][k] = i < rows && k < rows ? g[i * rows + k] / norm / norm : 0.0f;
    all.at[i][k] = i == k ? 1.0f / norm : 0.0f;
  }
  __syncthreads();
  Tile tile;
  for (int step = 0; step < kSteps; ++step) {
    tile.product(a, a, rows);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const float identity = tile.row + i == tile.column + j ? 3.4445f : 0.0f;
        tile.sum[i][j] = identity - 4.7750f * a.at[tile.row + i][tile.column + j] + 2.0315f * tile.sum[i][j];
      }
    }
    tile.store(q);
    tile.product(q, all, rows);
    tile.store(all);
    // The next X is Q X, so that the next A is Q A Q.
    tile.product(q, a, rows);
    tile.store(a);
    tile.product(a, q, rows);
    tile.store(a);
  }
  for (int at = static_cast<int>(threadIdx.x); at < rows * rows; at += kThreads) {
    p[at] = all.at[at / rows][at % rows];
  }
}

__global__ void multiply(Args args, const float* p) {
  __shared__ float m[kRows][kColumns];
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x % kColumns;
  const int first = static_cast<int>(threadIdx.x) / kColumns;
  if (column < args.cols) {
    for (int k = first; k < args.rows; k += kThreads / kColumns) {
      m[k][threadIdx.x % kColumns] = args.m[k * args.cols + column];
    }
  }
  __syncthreads();
  if (column >= args.cols) return;
  for (int i = first; i < args.rows; i += kThreads / kColumns) {
    float sum = 0;
    for (int k = 0; k < args.rows; ++k) sum += p[i * args.rows + k] * m[k][threadIdx.x % kColumns];
    args.out[i * args.cols + column] = sum;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    const size_t bytes = sizeof(float) * static_cast<size_t>(args.rows * args.rows);
    fabricbench::check_cuda(cudaMalloc(&g_, bytes), "cudaMalloc");
    fabricbench::check_cuda(cudaMalloc(&p_, bytes), "cudaMalloc");
  }
  ~Solution() {
    cudaFree(g_);
    cudaFree(p_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.rows);
    const auto tiles = static_cast<unsigned>((args.cols + kColumns - 1) / kColumns);
    gram<<<rows, kThreads, 0, stream>>>(args, g_);
    fabricbench::check_nccl(ncclAllReduce(g_, g_, rows * rows, ncclFloat, ncclSum, comm_, stream));
    polynomial<<<1, kThreads, 0, stream>>>(g_, static_cast<int>(rows), p_);
    multiply<<<tiles, kThreads, 0, stream>>>(args, p_);
  }

 private:
  fabricbench::NcclCommunicator comm_;
  float* g_ = nullptr;
  float* p_ = nullptr;
};
// [/solution]
