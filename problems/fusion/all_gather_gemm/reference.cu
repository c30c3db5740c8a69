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

constexpr int kMostComputing = 96;  // blocks; with those that send, all are resident at once

// Some blocks push this rank's rows to the others, one block for each peer and stripe of kTileRows rows. They wait for
// no rank: a shard has two places at each peer, used in turn, and a rank in call c + 2 has had our shard of c + 1,
// which we sent after all our blocks had ended call c, and with it read what was there.
__device__ void send_stripe(const bf16* a, bf16* to, int64_t elements, uint32_t& arrived, uint32_t call) {
  constexpr int kAtOnce = 8;  // loads under way in each thread
  const auto vectors = static_cast<int>(elements / 8);
  for (int i = threadIdx.x; i < vectors; i += kTileThreads * kAtOnce) {
    uint4 part[kAtOnce];
#pragma unroll
    for (int p = 0; p < kAtOnce; ++p) {
      const int at = i + p * kTileThreads;
      part[p] = at < vectors ? reinterpret_cast<const uint4*>(a)[at] : uint4{};
    }
#pragma unroll
    for (int p = 0; p < kAtOnce; ++p) {
      const int at = i + p * kTileThreads;
      if (at < vectors) reinterpret_cast<uint4*>(to)[at] = part[p];
    }
  }
  for (int64_t i = 8 * vectors + threadIdx.x; i < elements; i += kTileThreads) to[i] = a[i];
  // The barrier orders the stores of all threads before the release.
  __syncthreads();
  if (threadIdx.x == 0) Flag(arrived).store(call, cuda::memory_order_release);
}

__global__ void __launch_bounds__(kTileThreads) all_gather_gemm(Args args, Peers<bf16> shards, Peers<uint32_t> arrived,
                                                                int64_t shard, int rank, int world, uint32_t call) {
  const int m = static_cast<int>(args.m), n = static_cast<int>(args.n), k = static_cast<int>(args.k);
  const int stripes = (m + kTileRows - 1) / kTileRows, columns = (n + kTileColumns - 1) / kTileColumns;
  const int sending = (world - 1) * stripes, block = blockIdx.x;
  const auto shard_of = [&](int owner, int source) { return shards.of[owner] + (call % 2 * world + source) * shard; };

  if (block < sending) {
    const int peer = (rank + 1 + block / stripes) % world, row = block % stripes * kTileRows;
    const int64_t first = int64_t{row} * k;
    send_stripe(args.a + first, shard_of(peer, rank) + first, int64_t{min(kTileRows, m - row)} * k,
                arrived.of[peer][rank * stripes + block % stripes], call);
    return;
  }

  // The others multiply: first our own rows, which need not travel, then those of our left neighbour, which sent to us
  // first, and so on.
  __shared__ TileBuffers buffers;
  const int tiles = world * stripes * columns;
  for (int tile = block - sending; tile < tiles; tile += static_cast<int>(gridDim.x) - sending) {
    const int step = tile / (stripes * columns), source = (rank - step + world) % world;
    const int stripe = tile / columns % stripes, row = stripe * kTileRows, column = tile % columns * kTileColumns;
    const bf16* a = step == 0 ? args.a : shard_of(rank, source);
    if (step > 0) {
      if (threadIdx.x == 0) {
        while (Flag(arrived.of[rank][source * stripes + stripe]).load(cuda::memory_order_acquire) < call) {
        }
      }
      __syncthreads();  // what the first thread has acquired is there for all
    }

    float sums[kTileSums];
    const int rows = min(kTileRows, m - row);
    multiply_tile(buffers, a + int64_t{row} * k, k, rows, args.b + column, n, n - column, k, sums);

    float* c = args.c + (int64_t{source} * m + row) * n + column;
    const auto inside = [&](int i) { return tile_row(i) < rows && tile_column(i) < n - column; };
    const auto at = [&](int i) { return c + int64_t{tile_row(i)} * n + tile_column(i); };
    if (n % 2 == 0) {  // pairs are aligned, and complete
#pragma unroll
      for (int i = 0; i < kTileSums; i += 2) {
        if (inside(i)) *reinterpret_cast<float2*>(at(i)) = make_float2(sums[i], sums[i + 1]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kTileSums; ++i) {
        if (inside(i)) *at(i) = sums[i];
      }
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        stripes_((args.m + kTileRows - 1) / kTileRows),
        shard_((args.m * args.k + 7) / 8 * 8),  // every shard begins at a multiple of 16 bytes
        shards_(rank, 2 * static_cast<size_t>(world_ * shard_) * sizeof(bf16)),
        arrived_(rank, static_cast<size_t>(world_ * stripes_) * sizeof(uint32_t)) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t tiles = world_ * stripes_ * ((args.n + kTileColumns - 1) / kTileColumns);
    const int64_t blocks = (world_ - 1) * stripes_ + std::min<int64_t>(kMostComputing, tiles);
    all_gather_gemm<<<static_cast<unsigned>(blocks), kTileThreads, 0, stream>>>(
        args, shards_.peers<bf16>(), arrived_.peers<uint32_t>(), shard_, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  int64_t stripes_, shard_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory shards_, arrived_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the gather and the product
//|   }
//| };
// [/solution]
