#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

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
  bf16 b[kTileStages][kTileDepth][kTileColumns + 8];
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

// sums = a · b for a tile of at most kTileRows x kTileColumns. `a` is rows x depth with a_stride elements from row to
// row, `b` is depth x columns likewise. All threads of the block call it; it reads `a` and `b` with weak loads.
__device__ inline void multiply_tile(TileBuffers& shared, const bf16* a, int a_stride, int rows, const bf16* b,
                                     int b_stride, int columns, int depth, float (&sums)[kTileSums]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int steps = (depth + kTileDepth - 1) / kTileDepth;
  const auto load = [&](int step) {
    const int from = step * kTileDepth, stage = step % kTileStages;
    if (step < steps) {
      load_panel<kTileRows, kTileDepth>(shared.a[stage], a + from, a_stride, rows, depth - from);
      load_panel<kTileDepth, kTileColumns>(shared.b[stage], b + static_cast<int64_t>(from) * b_stride, b_stride,
                                           depth - from, columns);
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
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(right[0]), "=r"(right[1]), "=r"(right[2]), "=r"(right[3])
                     : "r"(address(&shared.b[stage][k + lane % 16][warp % 2 * 32 + pair * 16 + lane / 16 * 8]))
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
using fabricbench::Peers;
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

constexpr int kMostBlocks = 128;  // all resident at once

// Partial sums travel as they lie in registers, four at a time: the owner's block has the same shape, so thread t there
// needs what thread t had here. Neighbouring threads write neighbouring 16 bytes.
constexpr int kTileQuads = kTileSums / 4;

__global__ void __launch_bounds__(kTileThreads)
    gemm_reduce_scatter(Args args, Peers<float4> partial, Peers<uint32_t> arrived, int rank, int world, uint32_t call) {
  const int m = static_cast<int>(args.m), n = static_cast<int>(args.n), k = static_cast<int>(args.k);
  const int columns = (n + kTileColumns - 1) / kTileColumns, tiles = (m + kTileRows - 1) / kTileRows * columns;
  // Two places, used in turn, are enough: a rank in call c + 2 has had our sums of c + 1, and we sent those after all
  // our blocks had ended call c.
  const auto place = [&](int owner, int source, int tile) {
    return partial.of[owner] + ((call % 2 * world + source) * int64_t{tiles} + tile) * (kTileThreads * kTileQuads);
  };

  // Tiles of other ranks come first, those of our right neighbour before all others, and our own last: sending waits
  // for no rank, so no rank waits for a tile that is queued behind a wait.
  __shared__ TileBuffers buffers;
  for (int item = blockIdx.x; item < world * tiles; item += gridDim.x) {
    const int owner = (rank + 1 + item / tiles) % world, tile = item % tiles;
    const int row = tile / columns * kTileRows, column = tile % columns * kTileColumns, rows = min(kTileRows, m - row);
    float sums[kTileSums];
    multiply_tile(buffers, args.a + (int64_t{owner} * m + row) * k, k, rows, args.b + column, n, n - column, k, sums);

    if (owner != rank) {
      float4* to = place(owner, rank, tile) + threadIdx.x;
#pragma unroll
      for (int q = 0; q < kTileQuads; ++q) {
        to[q * kTileThreads] = {sums[4 * q], sums[4 * q + 1], sums[4 * q + 2], sums[4 * q + 3]};
      }
      // The barrier orders the stores of all threads before the release.
      __syncthreads();
      if (threadIdx.x == 0) {
        Flag(arrived.of[owner][rank * tiles + tile]).store(call, cuda::memory_order_release);
      }
      continue;
    }

    if (const int source = threadIdx.x; source < world && source != rank) {
      while (Flag(arrived.of[rank][source * tiles + tile]).load(cuda::memory_order_acquire) < call) {
      }
    }
    __syncthreads();  // what those threads have acquired is there for all
    for (int step = 1; step < world; ++step) {
      const float4* from = place(rank, (rank + step) % world, tile) + threadIdx.x;
#pragma unroll
      for (int q = 0; q < kTileQuads; ++q) {
        const float4 value = from[q * kTileThreads];
        sums[4 * q] += value.x;
        sums[4 * q + 1] += value.y;
        sums[4 * q + 2] += value.z;
        sums[4 * q + 3] += value.w;
      }
    }

    bf16* out = args.out + int64_t{row} * n + column;
    const auto inside = [&](int i) { return tile_row(i) < rows && tile_column(i) < n - column; };
    const auto at = [&](int i) { return out + int64_t{tile_row(i)} * n + tile_column(i); };
    if (n % 2 == 0) {  // pairs are aligned, and complete
#pragma unroll
      for (int i = 0; i < kTileSums; i += 2) {
        if (inside(i)) *reinterpret_cast<__nv_bfloat162*>(at(i)) = __floats2bfloat162_rn(sums[i], sums[i + 1]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kTileSums; ++i) {
        if (inside(i)) *at(i) = __float2bfloat16(sums[i]);
      }
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        tiles_((args.m + kTileRows - 1) / kTileRows * ((args.n + kTileColumns - 1) / kTileColumns)),
        partial_(rank, 2 * static_cast<size_t>(world_ * tiles_) * kTileRows * kTileColumns * sizeof(float)),
        arrived_(rank, static_cast<size_t>(world_ * tiles_) * sizeof(uint32_t)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kMostBlocks, world_ * tiles_));
    gemm_reduce_scatter<<<blocks, kTileThreads, 0, stream>>>(args, partial_.peers<float4>(), arrived_.peers<uint32_t>(),
                                                             rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  int64_t tiles_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory partial_, arrived_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the product and the reduce-scatter
//|   }
//| };
// [/solution]
