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
using fabricbench::Peers;
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Large products. First all tiles are multiplied, those of the right neighbour's rows before all others, and the sums
// of each warp go to the rank that has its rows as soon as the tile is done. This waits for no rank. Then each rank
// adds up what has come for it.
//
// A warp has 16 rows of a tile, a strip. Its sums travel as they lie in registers, four at a time, so that
// neighbouring lanes write neighbouring 16 bytes; thread t of a warp that adds has the places of thread t of the
// senders.

constexpr int kDepth = 64;  // of a step: 128 bytes, the span of the swizzle
constexpr int kStripRows = 16;

struct Large {
  int rows;    // of all ranks
  int strips;  // of a rank's rows
  int steps;   // of the depth
};

__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ inline void init_barrier(uint64_t& barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}
__device__ inline void make_barriers_visible() {
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void arrive(uint64_t& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}
__device__ inline void arrive_and_expect(uint64_t& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}
__device__ inline void wait_barrier(uint64_t& barrier, unsigned parity) {
  asm volatile(
      "{\n .reg .pred done;\nAGAIN:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n @!done bra "
      "AGAIN;\n}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

// A box of a matrix, swizzled on its way; its first element is at (row, column).
__device__ inline void load_box(void* to, const CUtensorMap& map, int row, int column, uint64_t& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(column), "r"(row), "r"(shared_address(&barrier))
      : "memory");
}
// Rows of 128 bytes in shared memory, swizzled; groups of eight rows 1024 bytes apart.
__device__ inline uint64_t describe_rows(const void* p) {
  return (shared_address(p) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define OUT_4(k) "+f"(d[k]), "+f"(d[k + 1]), "+f"(d[k + 2]), "+f"(d[k + 3])
#define OUT_16(k) OUT_4(k), OUT_4(k + 4), OUT_4(k + 8), OUT_4(k + 12)
#define OUT_64(k) OUT_16(k), OUT_16(k + 16), OUT_16(k + 32), OUT_16(k + 48)
#define TEN(t) "%" t "0, %" t "1, %" t "2, %" t "3, %" t "4, %" t "5, %" t "6, %" t "7, %" t "8, %" t "9"

// d += 64 rows of A times 128 rows of B, transposed; 16 columns of both.
__device__ inline void multiply_rows(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" TEN("") ", " TEN("1") ", " TEN("2") ", " TEN(
                   "3") ", " TEN("4") ", " TEN("5") ", %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;"
               : OUT_64(0)
               : "l"(a), "l"(b)
               : "memory");
}

// A block has one group of four warps that asks for A and B, and kGroups that multiply 64 rows each.
constexpr int kGroups = 2, kRows = 64 * kGroups, kColumns = 128, kThreads = 128 * (kGroups + 1);
constexpr int kStages = 4;

struct alignas(1024) Stage {
  bf16 a[kRows][kDepth], b[kColumns][kDepth];
};

struct Shared {
  Stage stages[kStages];
  uint64_t full[kStages], empty[kStages];
};

// Where the ring of stages stands.
struct Ring {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

// A strip has kColumns / 8 quads for each lane: sums of rows i and i + 8, columns j and j + 1 of eight.
struct Parts {
  Peers<float4> sums;  // two buffers of each rank, used in turn; in each: of all sources, strips and columns of tiles
  Peers<uint32_t> arrived;  // likewise: the last call in which they came
};

// Two buffers are enough: a rank in call c + 2 has had our sums of c + 1, and we sent those after all our blocks had
// ended call c.
__device__ inline int64_t place(const Large& large, int columns, int world, uint32_t call, int source, int strip,
                                int column) {
  return ((int64_t{call % 2} * world + source) * large.strips + strip) * columns + column;
}

__global__ void __launch_bounds__(kThreads)
    gemm_reduce_scatter_large(Args args, const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                              const __grid_constant__ Parts parts, Large large, int rank, int world, uint32_t call) {
  constexpr int kQuads = kColumns / 8;
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init_barrier(shared.full[s], 1);
      init_barrier(shared.empty[s], 4 * kGroups);  // one arrival of each warp that multiplies
    }
    make_barriers_visible();
  }
  __syncthreads();
  const int n = static_cast<int>(args.n), m = large.strips * kStripRows;
  const int tile_rows = (large.rows + kRows - 1) / kRows, columns = (n + kColumns - 1) / kColumns;
  const int tiles = tile_rows * columns, first_tile_row = (rank + 1) % world * m / kRows;
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  // Rows change slowest: all tiles of a rank's rows follow each other.
  const auto row_of = [&](int tile) { return (first_tile_row + tile / columns) % tile_rows * kRows; };
  Ring at;

  if (group == kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x % 128 != 0) return;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      for (int step = 0; step < large.steps; ++step, at.advance()) {
        auto& stage = shared.stages[at.stage];
        uint64_t& full = shared.full[at.stage];
        wait_barrier(shared.empty[at.stage], at.parity ^ 1);
        arrive_and_expect(full, sizeof stage);
        load_box(stage.a, a, row_of(tile), step * kDepth, full);
        load_box(stage.b, b, tile % columns * kColumns, step * kDepth, full);
      }
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const int warp = threadIdx.x / 32;  // of those that multiply
  Ring before;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float sums[kColumns / 2] = {};
    const auto release = [&] {
      __syncwarp();  // each lane has waited for its own part of the product
      if (lane == 0) arrive(shared.empty[before.stage]);
      before.advance();
    };
    for (int step = 0; step < large.steps; ++step, at.advance()) {
      const auto& stage = shared.stages[at.stage];
      wait_barrier(shared.full[at.stage], at.parity);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      const uint64_t left = describe_rows(stage.a[64 * group]), right = describe_rows(stage.b);
#pragma unroll
      for (int i = 0; i < kDepth / 16; ++i) multiply_rows(sums, left + 2 * i, right + 2 * i);  // 32 bytes further
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      if (step == 0) continue;
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      release();  // the stage of the step before
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    release();

    const int strip = row_of(tile) / kStripRows + warp, owner = strip / large.strips;
    if (owner >= world) continue;  // rows behind the last
    const int64_t to = place(large, columns, world, call, rank, strip % large.strips, tile % columns);
    float4* quads = parts.sums.of[owner] + to * (kQuads * 32) + lane;
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      quads[q * 32] = {sums[4 * q], sums[4 * q + 1], sums[4 * q + 2], sums[4 * q + 3]};
    }
    __syncwarp();  // orders the stores of all lanes before the release
    if (lane == 0) Flag(parts.arrived.of[owner][to]).store(call, cuda::memory_order_release);
  }

  // Each warp adds some quads of a strip at a time, in the order in which its columns came.
  constexpr int kPiece = 2, kPieces = kQuads / kPiece;
  const int pieces = large.strips * columns * kPieces, warps = static_cast<int>(gridDim.x) * 4 * kGroups;
  for (int piece = warp * static_cast<int>(gridDim.x) + blockIdx.x; piece < pieces; piece += warps) {
    const int part = piece % kPieces, strip = piece / kPieces % large.strips, column = piece / kPieces / large.strips;
    if (lane < world) {
      const int64_t from = place(large, columns, world, call, lane, strip, column);
      while (Flag(parts.arrived.of[rank][from]).load(cuda::memory_order_acquire) < call) {
      }
    }
    __syncwarp();  // what those lanes have acquired is there for all
    float4 sums[kPiece] = {};
#pragma unroll 4
    for (int source = 0; source < world; ++source) {
      const float4* quads =
          parts.sums.of[rank] + place(large, columns, world, call, source, strip, column) * (kQuads * 32);
#pragma unroll
      for (int q = 0; q < kPiece; ++q) {
        const float4 value = quads[(part * kPiece + q) * 32 + lane];
        sums[q] = {sums[q].x + value.x, sums[q].y + value.y, sums[q].z + value.z, sums[q].w + value.w};
      }
    }
    const int row = strip * kStripRows + lane / 4;
#pragma unroll
    for (int q = 0; q < kPiece; ++q) {
      const int c = column * kColumns + (part * kPiece + q) * 8 + lane % 4 * 2;
      if (c >= n) continue;
      bf16* out = args.out + int64_t{row} * n + c;
      *reinterpret_cast<__nv_bfloat162*>(out) = __floats2bfloat162_rn(sums[q].x, sums[q].y);
      *reinterpret_cast<__nv_bfloat162*>(out + 8 * int64_t{n}) = __floats2bfloat162_rn(sums[q].z, sums[q].w);
    }
  }
}

// Other sizes: tiles by mma.sync.

constexpr int kMostBlocks = 16;  // all resident at once

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
    multiply_tile(buffers, args.a + (int64_t{owner} * m + row) * k, k, rows, args.b + int64_t{column} * k, k,
                  n - column, k, sums);

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

// For boxes of box_rows x kDepth of a matrix of rows x columns.
inline CUtensorMap describe(const bf16* matrix, int64_t rows, int64_t columns, int box_rows) {
  CUtensorMap map{};
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(columns) * sizeof(bf16)};
  const cuuint32_t box[] = {kDepth, static_cast<cuuint32_t>(box_rows)}, steps[] = {1, 1};
  if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<bf16*>(matrix), sizes, strides, box,
                             steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    throw std::runtime_error("cuTensorMapEncodeTiled");
  }
  return map;
}

class LargeProduct {
 public:
  LargeProduct(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        large_{static_cast<int>(world_ * args.m), static_cast<int>(args.m / kStripRows),
               static_cast<int>(args.k / kDepth)},
        columns_(static_cast<int>((args.n + kColumns - 1) / kColumns)),
        a_(describe(args.a, world_ * args.m, args.k, kRows)),
        b_(describe(args.b, args.n, args.k, kColumns)),
        sums_(rank, 2 * sizeof(float) * static_cast<size_t>(large_.rows) * static_cast<size_t>(columns_ * kColumns)),
        arrived_(rank, 2 * sizeof(uint32_t) * static_cast<size_t>(large_.rows / kStripRows * columns_)) {
    int device = 0, processors = 0;
    fabricbench::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    fabricbench::check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                            "cudaDeviceGetAttribute");
    fabricbench::check_cuda(cudaFuncSetAttribute(gemm_reduce_scatter_large, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(sizeof(Shared))),
                            "cudaFuncSetAttribute");
    // All blocks are resident at once: in the end they wait for each other's sums, of all ranks.
    blocks_ = std::min((large_.rows + kRows - 1) / kRows * columns_, processors);
  }

  static bool suits(const Args& args) { return args.m % kStripRows == 0 && args.n % 8 == 0 && args.k % kDepth == 0; }

  void run(const Args& args, cudaStream_t stream, uint32_t call) {
    gemm_reduce_scatter_large<<<static_cast<unsigned>(blocks_), kThreads, sizeof(Shared), stream>>>(
        args, a_, b_, {sums_.peers<float4>(), arrived_.peers<uint32_t>()}, large_, rank_, world_, call);
  }

 private:
  int rank_, world_, blocks_ = 0;
  Large large_;
  int columns_;
  CUtensorMap a_, b_;
  fabricbench::PeerMemory sums_, arrived_;
};

class SmallProduct {
 public:
  SmallProduct(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        tiles_((args.m + kTileRows - 1) / kTileRows * ((args.n + kTileColumns - 1) / kTileColumns)),
        partial_(rank, 2 * static_cast<size_t>(world_ * tiles_) * kTileRows * kTileColumns * sizeof(float)),
        arrived_(rank, static_cast<size_t>(world_ * tiles_) * sizeof(uint32_t)) {}

  void run(const Args& args, cudaStream_t stream, uint32_t call) {
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kMostBlocks, world_ * tiles_));
    gemm_reduce_scatter<<<blocks, kTileThreads, 0, stream>>>(args, partial_.peers<float4>(), arrived_.peers<uint32_t>(),
                                                             rank_, world_, call);
  }

 private:
  int rank_, world_;
  int64_t tiles_;
  fabricbench::PeerMemory partial_, arrived_;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) {
    if (LargeProduct::suits(args)) {
      large_.emplace(rank, args);
    } else {
      small_.emplace(rank, args);
    }
  }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    if (large_) {
      large_->run(args, stream, call_);
    } else {
      small_->run(args, stream, call_);
    }
  }

 private:
  uint32_t call_ = 0;
  std::optional<LargeProduct> large_;
  std::optional<SmallProduct> small_;
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
