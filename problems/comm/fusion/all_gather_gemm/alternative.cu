#include <cuda.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>
#include <optional>
#include <stdexcept>

#include "args.h"

// Given: one tile of a matrix product by one block, on tensor cores.

constexpr int kTileRows = 32, kTileColumns = 64, kTileDepth = 64;
constexpr int kTileThreads = 128;  // four warps, each with 16 x 32 of the tile's 32 x 64 sums
constexpr int kTileSums = 16;      // of each thread
constexpr int kTileStages = 3;     // steps of the depth: one is multiplied while the next are loaded

using bf16 = __nv_bfloat16;

// In shared memory, 41 KiB. Rows are padded so that eight of them lie in different banks.
struct alignas(16) TileBuffers {
  bf16 a[kTileStages][kTileRows][kTileDepth + 8];
  bf16 b[kTileStages][kTileColumns][kTileDepth + 8];
};

// Where sum i of this thread belongs in the tile. Sums 2i and 2i + 1 are neighbours in a row.
__device__ inline int tile_row(int i) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return warp / 2 * 16 + lane / 4 + i % 4 / 2 * 8;
}
__device__ inline int tile_column(int i) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return warp % 2 * 32 + i / 4 * 8 + lane % 4 * 2 + i % 2;
}

// The upper left rows x columns of `from` (at most kRows x kColumns), and zeros around it. Complete after
// __pipeline_wait_prior and __syncthreads.
template <int kRows, int kColumns>
__device__ void load_panel(bf16 (&to)[kRows][kColumns + 8], const bf16* from, int stride, int rows, int columns) {
  constexpr int kVectors = kColumns / 8;
  const bool aligned = stride % 8 == 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0;
  for (int i = threadIdx.x; i < kRows * kVectors; i += kTileThreads) {
    const int row = i / kVectors, column = i % kVectors * 8;
    const int there = row < rows ? max(0, min(8, columns - column)) : 0;
    const bf16* source = there > 0 ? from + static_cast<int64_t>(row) * stride + column : from;
    if (aligned) {
      __pipeline_memcpy_async(&to[row][column], source, 16, 16 - there * sizeof(bf16));
    } else {
      for (int j = 0; j < 8; ++j) to[row][column + j] = j < there ? source[j] : bf16(0.0f);
    }
  }
}

// sums = a · bᵀ for a tile of at most kTileRows x kTileColumns. `a` is rows x depth with a_stride elements from row to
// row, `b` is columns x depth likewise. All threads of the block call it; it reads `a` and `b` with weak loads.
__device__ inline void multiply_tile(TileBuffers& shared, const bf16* a, int a_stride, int rows, const bf16* b,
                                     int b_stride, int columns, int depth, float (&sums)[kTileSums]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int steps = (depth + kTileDepth - 1) / kTileDepth;
  const auto load = [&](int step) {
    const int from = step * kTileDepth, stage = step % kTileStages;
    if (step < steps) {
      load_panel<kTileRows, kTileDepth>(shared.a[stage], a + from, a_stride, rows, depth - from);
      load_panel<kTileColumns, kTileDepth>(shared.b[stage], b + from, b_stride, columns, depth - from);
    }
    __pipeline_commit();
  };
  for (float& sum : sums) sum = 0;
  for (int step = 0; step < kTileStages - 1; ++step) load(step);
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kTileStages;
    __pipeline_wait_prior(kTileStages - 2);
    __syncthreads();               // this step is there for all, and all have done with the one before,
    load(step + kTileStages - 1);  // whose place is filled again
    const int here = min(kTileDepth, depth - step * kTileDepth);
    for (int k = 0; k < here; k += 16) {
      uint32_t left[4], right[4];
      const auto address = [](const bf16* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(left[0]), "=r"(left[1]), "=r"(left[2]), "=r"(left[3])
                   : "r"(address(&shared.a[stage][warp / 2 * 16 + lane % 16][k + lane / 16 * 8]))
                   : "memory");
      for (int pair = 0; pair < 2; ++pair) {
        const int column = warp % 2 * 32 + pair * 16 + lane / 16 * 8 + lane % 8;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(right[0]), "=r"(right[1]), "=r"(right[2]), "=r"(right[3])
                     : "r"(address(&shared.b[stage][column][k + lane / 8 % 2 * 8]))
                     : "memory");
        for (int half = 0; half < 2; ++half) {
          float* sum = sums + (pair * 2 + half) * 4;
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
              "{%0, %1, %2, %3};"
              : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
              : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[half * 2]), "r"(right[half * 2 + 1]));
        }
      }
    }
  }
  __syncthreads();
}

// [solution]
// Not overlapped and nothing is sent: between two barriers, tiles read the rows of peers where they are.
using fabricbench::Peers;

constexpr int kBlocks = 8;

__device__ void barrier(const Peers<uint32_t>& flags, int rank, int world, uint32_t epoch) {
  using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  __syncthreads();
  if (const int peer = threadIdx.x; peer < world) {
    Flag(flags.of[peer][blockIdx.x * world + rank]).store(epoch, cuda::memory_order_release);
    while (Flag(flags.of[rank][blockIdx.x * world + peer]).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
}

__global__ void gemm_of_peers(Args args, Peers<const bf16> a, Peers<uint32_t> flags, int rank, int world,
                              uint32_t call) {
  __shared__ TileBuffers buffers;
  barrier(flags, rank, world, 2 * call - 1);
  const int m = static_cast<int>(args.m), n = static_cast<int>(args.n), k = static_cast<int>(args.k);
  const int stripes = (m + kTileRows - 1) / kTileRows, columns = (n + kTileColumns - 1) / kTileColumns;
  for (int tile = static_cast<int>(blockIdx.x); tile < world * stripes * columns; tile += kBlocks) {
    const int source = tile / columns / stripes, row = tile / columns % stripes * kTileRows;
    const int column = tile % columns * kTileColumns, rows = min(kTileRows, m - row);
    float sums[kTileSums];
    multiply_tile(buffers, a.of[source] + int64_t{row} * k, k, rows, args.b + int64_t{column} * k, k, n - column, k,
                  sums);
    for (int i = 0; i < kTileSums; ++i) {
      const int r = tile_row(i), c = column + tile_column(i);
      if (r < rows && c < n) args.c[(int64_t{source} * m + row + r) * n + c] = __float2bfloat16(sums[i]);
    }
  }
  barrier(flags, rank, world, 2 * call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        a_(rank, args.a),
        flags_(rank, sizeof(uint32_t) * kBlocks * fabricbench::kMostRanks) {}

  void run(const Args& args, cudaStream_t stream) {
    gemm_of_peers<<<kBlocks, kTileThreads, 0, stream>>>(args, a_.peers<const bf16>(), flags_.peers<uint32_t>(), rank_,
                                                        world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory a_, flags_;
};
// [/solution]
