#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>

using fabricbench::Peers;

constexpr int kThreads = 128;
constexpr int kBlocks = 256;  // two on each multiprocessor, all resident at once: some of them wait for their peers

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Everything goes by 8 channels, an octet. A row has width * octets of them, and kThreads of these are a slice.
struct Sizes {
  int rows, width, octets, slices;
};

// columns[pixel][p][q] is what the filters see of (p, q) at an output's pixel. Stores an octet of an input's pixel at
// the places of `row` of an output that see it at p.
__device__ void spread(int4* columns, Sizes n, int row, int p, int column, int octet, int4 value) {
#pragma unroll
  for (int q = 0; q < 3; ++q) {
    const int j = column - q + 1;
    if (j >= 0 && j < n.width) columns[((int64_t{row} * n.width + j) * 9 + 3 * p + q) * n.octets + octet] = value;
  }
}

// A slice of an edge, for the neighbour: this rank's last row is seen at p = 0 from the first row of the rank behind it
// (side 0), its first row at p = 2 from the last row of the rank before it (side 1).
__device__ void push(const int4* x, const Peers<int4>& columns, const Peers<uint32_t>& arrived, Sizes n, int side,
                     int slice, int rank, int world, uint32_t call) {
  const int target = side == 0 ? rank + 1 : rank - 1;
  if (target < 0 || target >= world) return;
  const int item = slice * kThreads + static_cast<int>(threadIdx.x), items = n.width * n.octets;
  if (item < items) {
    const int4 value = __ldg(x + (side == 0 ? int64_t{n.rows - 1} * items : 0) + item);
    spread(columns.of[target], n, side == 0 ? 0 : n.rows - 1, 2 * side, item / n.octets, item % n.octets, value);
  }
  __syncthreads();  // orders the stores of all threads before the release of one
  if (threadIdx.x == 0) Flag(arrived.of[target][side * n.slices + slice]).store(call, cuda::memory_order_release);
}

// Unfolds this rank's rows into its own matrix, and its edges into those of its neighbours: first the edges, so that
// they are on their way while the rest is done. Behind this kernel the matrix is complete: a block waits for each slice
// that neighbours send.
//
// There are two matrices, used in turn, and no rank asks for permission to write. What a rank overwrites in call e was
// read by the product of call e - 2: neighbours send to each other, so in call e - 1 the writer has waited for the
// reader's edges, which the reader sent in a kernel behind that product. Zeros around the image are never overwritten.
__global__ void __launch_bounds__(kThreads)
    unfold(const int4* x, Peers<int4> columns, Peers<uint32_t> arrived, Sizes n, int rank, int world, uint32_t call) {
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const int last = blocks - 1 - block;  // edges are given out from the last block on
  for (int k = last; k < 2 * n.slices; k += blocks)
    push(x, columns, arrived, n, k / n.slices, k % n.slices, rank, world, call);

  for (int k = block; k < n.rows * n.slices; k += blocks) {
    const int row = k / n.slices, items = n.width * n.octets;
    const int item = k % n.slices * kThreads + static_cast<int>(threadIdx.x);
    if (item >= items) continue;
    const int4 value = __ldg(x + int64_t{row} * items + item);
#pragma unroll
    for (int p = 0; p < 3; ++p) {
      const int to = row - p + 1;
      if (to >= 0 && to < n.rows) spread(columns.of[rank], n, to, p, item / n.octets, item % n.octets, value);
    }
  }

  if (threadIdx.x != 0) return;
  for (int k = last; k < 2 * n.slices; k += blocks) {
    const int source = k < n.slices ? rank - 1 : rank + 1;
    if (source < 0 || source >= world) continue;
    while (Flag(arrived.of[rank][k]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

// A kernel that unfolds, and one product.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        sizes_{static_cast<int>(args.rows), static_cast<int>(args.width), static_cast<int>(args.channels / 8),
               static_cast<int>((args.width * args.channels / 8 + kThreads - 1) / kThreads)},
        columns_(rank, 2 * matrix_bytes(args)),
        arrived_(rank, static_cast<size_t>(2 * sizes_.slices) * sizeof(uint32_t)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
  }
  ~Solution() { cublasDestroy(cublas_); }

  void run(const Args& args, cudaStream_t stream) {
    const size_t offset = ++call_ % 2 * matrix_bytes(args);
    unfold<<<std::min(kBlocks, sizes_.rows * sizes_.slices), kThreads, 0, stream>>>(
        reinterpret_cast<const int4*>(args.x), columns_.peers<int4>(offset), arrived_.peers<uint32_t>(), sizes_, rank_,
        world_, call_);
    // cuBLAS has matrices by columns: what is columns w^T by rows is (w columns^T)^T there.
    const auto pixels = static_cast<int>(args.rows * args.width), depth = static_cast<int>(9 * args.channels),
               filters = static_cast<int>(args.filters);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, filters, pixels, depth, &one, args.w,
                                           CUDA_R_16BF, depth, columns_.mine(offset), CUDA_R_16BF, depth, &zero, args.y,
                                           CUDA_R_16BF, filters, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

 private:
  static size_t matrix_bytes(const Args& args) {
    return static_cast<size_t>(9 * args.rows * args.width * args.channels) * sizeof(__nv_bfloat16);
  }

  int rank_, world_;
  Sizes sizes_;
  uint32_t call_ = 0;                // the flags of fresh memory are 0
  fabricbench::PeerMemory columns_;  // two matrices, [pixels][9][channels]; fresh memory is zero
  fabricbench::PeerMemory arrived_;  // a word for each slice of an edge: the last call of which it is there
  cublasHandle_t cublas_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the convolution
//|   }
//| };
// [/solution]
