#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>

using fabricbench::Peers;

constexpr float kA = 3.4445F, kB = -4.7750F, kC = 2.0315F;
constexpr int kSteps = 5;
constexpr int kRows = 64, kTile = 4, kTiles = kRows / kTile, kThreads = kTiles * kTiles;

// One word per peer, written by that peer only: the last call whose Gram matrix it has ready.
struct Flags {
  uint32_t ready[fabricbench::kMostRanks];
};

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Matrices here are symmetric, of kRows x kRows, with zeros behind the last row and column. All are polynomials of one
// of them, so that products are symmetric, too, and factors may be exchanged.
using Matrix = float[kRows][kRows];

// A thread's tile of 4 x 4 elements.
struct Tile {
  float at[kTile][kTile] = {};
};

__device__ int tile_row() { return static_cast<int>(threadIdx.x) / kTiles * kTile; }
__device__ int tile_column() { return static_cast<int>(threadIdx.x) % kTiles * kTile; }

// The tile of a product. Row k of the left factor stands for its column k.
__device__ Tile multiply(const Matrix& left, const Matrix& right, int depth) {
  Tile tile;
#pragma unroll 4
  for (int k = 0; k < depth; ++k) {
    const float4 l = *reinterpret_cast<const float4*>(&left[k][tile_row()]);
    const float4 r = *reinterpret_cast<const float4*>(&right[k][tile_column()]);
    const float down[kTile] = {l.x, l.y, l.z, l.w}, across[kTile] = {r.x, r.y, r.z, r.w};
#pragma unroll
    for (int i = 0; i < kTile; ++i) {
#pragma unroll
      for (int j = 0; j < kTile; ++j) tile.at[i][j] += down[i] * across[j];
    }
  }
  return tile;
}

__device__ void store(Matrix& matrix, const Tile& tile) {
#pragma unroll
  for (int i = 0; i < kTile; ++i) {
    *reinterpret_cast<float4*>(&matrix[tile_row() + i][tile_column()]) =
        make_float4(tile.at[i][0], tile.at[i][1], tile.at[i][2], tile.at[i][3]);
  }
}

// X = p(A) X in each step, with p(x) = a + b x + c x² and A = X Xᵀ. Then the next A is p(A) A p(A): it does not take X
// to know it. So ranks exchange the Gram matrix of what they begin with, once, and its trace is the square of the norm;
// all steps are products of small matrices, and X = q m at the end, with the q that this kernel writes.
//
// One block, on each rank the same: the sums are formed in the same order everywhere. Gram matrices have two sets, used
// in turn. In call e a rank overwrites the one that others read in call e - 2. They have read it: their flags of call
// e - 1, which this rank has waited for, were posted by kernels behind those.
__global__ void __launch_bounds__(kThreads)
    iterate(Peers<Flags> flags, Peers<Matrix> grams, Matrix* q_out, int rows, int rank, int world, uint32_t call) {
  __shared__ __align__(16) Matrix a, p, q;

  // That this kernel runs says that the product before it has ended: the release covers what the stream did before.
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer < world && peer != rank) {
    Flag(flags.of[peer]->ready[rank]).store(call, cuda::memory_order_release);
    while (Flag(flags.of[rank]->ready[peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();  // what those threads have acquired is there for all

  const bool inside = tile_row() < rows && tile_column() < rows;  // other tiles are zeros, and stay so
  Tile tile;
  if (inside) {
    for (int r = 0; r < world; ++r) {
      const Matrix& gram = grams.of[r][call % 2];
#pragma unroll
      for (int i = 0; i < kTile; ++i) {
        const float4 v = *reinterpret_cast<const float4*>(&gram[tile_row() + i][tile_column()]);
        tile.at[i][0] += v.x;
        tile.at[i][1] += v.y;
        tile.at[i][2] += v.z;
        tile.at[i][3] += v.w;
      }
    }
  }
  store(a, tile);
  __syncthreads();
  float squares = 0;
  for (int i = 0; i < rows; ++i) squares += a[i][i];
  const float scale = 1 / fmaxf(sqrtf(squares), 1e-7F);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kTile; ++i) {
#pragma unroll
    for (int j = 0; j < kTile; ++j) tile.at[i][j] *= scale * scale;
  }
  store(a, tile);
  __syncthreads();

  for (int step = 0; step < kSteps; ++step) {
    Tile poly;
    if (inside) poly = multiply(a, a, rows);
#pragma unroll
    for (int i = 0; i < kTile; ++i) {
#pragma unroll
      for (int j = 0; j < kTile; ++j) {
        const bool diagonal = tile_row() + i == tile_column() + j;
        poly.at[i][j] = (diagonal ? kA : 0) + kB * a[tile_row() + i][tile_column() + j] + kC * poly.at[i][j];
      }
    }
    store(p, poly);
    __syncthreads();
    Tile product;
    if (inside) product = step == 0 ? poly : multiply(q, p, rows);
    if (step + 1 < kSteps && inside) tile = multiply(a, p, rows);
    __syncthreads();  // all have read a and q
    store(q, product);
    if (step + 1 < kSteps) {
      store(a, tile);
      __syncthreads();
      if (inside) tile = multiply(a, p, rows);
      __syncthreads();
      store(a, tile);
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kTile; ++i) {
    const float4 v = *reinterpret_cast<const float4*>(&q[tile_row() + i][tile_column()]);
    *reinterpret_cast<float4*>(&(*q_out)[tile_row() + i][tile_column()]) =
        make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), grams_(rank, 2 * sizeof(Matrix)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    fabricbench::check_cuda(cudaMalloc(&q_, sizeof(Matrix)), "cudaMalloc");
  }
  ~Solution() {
    cudaFree(q_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto rows = static_cast<int>(args.rows), cols = static_cast<int>(args.cols);
    const float one = 1, zero = 0;
    // cuBLAS has columns where these matrices have rows. What it leaves out behind the last row stays zero.
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, rows, rows, cols, &one, args.m, cols,
                                          args.m, cols, &zero, &grams_.mine<Matrix>()[call_ % 2][0][0], kRows));
    iterate<<<1, kThreads, 0, stream>>>(flags_.peers<Flags>(), grams_.peers<Matrix>(), q_, rows, rank_, world_, call_);
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, cols, rows, rows, &one, args.m, cols,
                                          &(*q_)[0][0], kRows, &zero, args.out, cols));
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, grams_;
  cublasHandle_t cublas_ = nullptr;
  Matrix* q_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the five steps
//|   }
//| };
// [/solution]
