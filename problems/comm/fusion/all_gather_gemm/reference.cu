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

// Large products. Blocks are of two kinds, each on a multiprocessor of its own: some send this rank's rows to all
// ranks, the others multiply what has arrived, step by step along the depth. A rank needs no row as a whole before it
// begins.
//
// All ranks' rows lie in `gathered` in the form in which the tensor cores read them from shared memory: by steps of 64
// columns, in each step all rows of A, 128 bytes each, swizzled in groups of eight rows. So m rows of one step are one
// piece of memory, also if a tile takes the rows of several ranks, and travel by bulk copies that no thread waits for.

constexpr int kDepth = 64;          // of a step: 128 bytes, the span of the swizzle
constexpr int kMostSending = 20;    // blocks; one alone keeps at most 1/16 of the link busy
constexpr int kSendingWarps = 4;    // of each block
constexpr int kPieceBytes = 16384;  // of a piece of this rank's rows: what one warp sends to one rank, with one flag

struct Large {
  int rows;         // of all ranks, rounded up to whole tiles
  int steps;        // of the depth
  int piece_steps;  // steps of a piece
  int pieces;
  int sending;  // blocks
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
__device__ inline void load_bytes(void* to, const void* from, int bytes, uint64_t& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}
__device__ inline void store_bytes(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
}
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}

// Rows of 128 bytes in shared memory, swizzled; groups of eight rows 1024 bytes apart.
__device__ inline uint64_t describe_rows(const void* p) {
  return (shared_address(p) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define OUT_4(k) "+f"(d[k]), "+f"(d[k + 1]), "+f"(d[k + 2]), "+f"(d[k + 3])
#define OUT_16(k) OUT_4(k), OUT_4(k + 4), OUT_4(k + 8), OUT_4(k + 12)
#define OUT_64(k) OUT_16(k), OUT_16(k + 16), OUT_16(k + 32), OUT_16(k + 48)
#define TEN(t) "%" t "0, %" t "1, %" t "2, %" t "3, %" t "4, %" t "5, %" t "6, %" t "7, %" t "8, %" t "9"

// d += 64 rows of A times 32 or 256 rows of B, transposed; 16 columns of both.
__device__ inline void multiply_rows(float (&d)[16], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {" TEN("") ", %10, %11, %12, %13, %14, %15}, "
               "%16, %17, 1, 1, 1, 0, 0;"
               : OUT_16(0)
               : "l"(a), "l"(b)
               : "memory");
}
__device__ inline void multiply_rows(float (&d)[128], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" TEN("") ", " TEN("1") ", " TEN("2") ", "
               TEN("3") ", " TEN("4") ", " TEN("5") ", " TEN("6") ", " TEN("7") ", " TEN("8") ", " TEN("9") ", "
               TEN("10") ", " TEN("11") ", %120, %121, %122, %123, %124, %125, %126, %127}, "
               "%128, %129, 1, 1, 1, 0, 0;"
               : OUT_64(0), OUT_64(64)
               : "l"(a), "l"(b)
               : "memory");
}

// A block that multiplies has one group of four warps that asks for A and B, and kGroups that multiply 64 rows each.
template <int kGroups, int kColumns>
struct TileShape {
  static constexpr int kRows = 64 * kGroups, kThreads = 128 * (kGroups + 1);
  struct alignas(1024) Stage {
    bf16 a[kRows][kDepth], b[kColumns][kDepth];
  };
  static constexpr int kStages = 4;
  struct Shared {
    Stage stages[kStages];
    uint64_t full[kStages], empty[kStages];
  };
  // Where a ring of stages stands.
  struct Ring {
    int stage = 0;
    unsigned parity = 0;
    __device__ void advance() {
      if (++stage < kStages) return;
      stage = 0;
      parity ^= 1;
    }
  };
};

__device__ inline uint32_t pack(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(both);
}

// The tensor cores leave neighbouring pairs of a row in neighbouring lanes, four lanes for eight columns. Of four such
// groups of columns, each of the four lanes gets one.
__device__ inline uint4 exchange(uint32_t (&pairs)[4]) {
  const int lane = threadIdx.x % 4;
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    const bool upper = lane & distance;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & distance) continue;
      const uint32_t got = __shfl_xor_sync(~0u, upper ? pairs[i] : pairs[i + distance], distance);
      pairs[i] = upper ? got : pairs[i];
      pairs[i + distance] = upper ? pairs[i + distance] : got;
    }
  }
  return {pairs[0], pairs[1], pairs[2], pairs[3]};
}

struct SendingShared {
  struct alignas(1024) {
    unsigned char bytes[kPieceBytes];
  } pieces[kSendingWarps];
  uint64_t full[kSendingWarps];
};

struct Gathered {
  Peers<bf16> buffers;      // two of each rank, used in turn
  Peers<uint32_t> arrived;  // of each source and piece: the last call in which it came
};

// Sends wait for no rank: a rank in call c + 2 has had all our pieces of c + 1, and we sent those after our blocks had
// ended call c, and with it read what was there.
__device__ void send_pieces(SendingShared& shared, const CUtensorMap& a, const Gathered& gathered, const Large& large,
                            int m, int rank, int world, uint32_t call) {
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 != 0 || warp >= kSendingWarps) return;
  uint64_t& full = shared.full[warp];
  unsigned char* piece_here = shared.pieces[warp].bytes;
  init_barrier(full, 1);
  make_barriers_visible();
  const int step_bytes = m * kDepth * static_cast<int>(sizeof(bf16));
  unsigned parity = 0;
  // All blocks work on the same few pieces, first those that begin the depth: the order in which they are needed.
  const int warps = kSendingWarps * large.sending;
  for (int item = warp * large.sending + blockIdx.x; item < large.pieces * world; item += warps) {
    const int piece = item / world, peer = (rank + item % world) % world;
    const int first = piece * large.piece_steps, steps = min(large.piece_steps, large.steps - first);
    arrive_and_expect(full, steps * step_bytes);
    for (int s = 0; s < steps; ++s) load_box(piece_here + s * step_bytes, a, 0, (first + s) * kDepth, full);
    wait_barrier(full, parity);
    parity ^= 1;
    bf16* to = gathered.buffers.of[peer] + ((call % 2 * large.steps + first) * int64_t{large.rows} + rank * m) * kDepth;
    for (int s = 0; s < steps; ++s) {
      store_bytes(to + s * int64_t{large.rows} * kDepth, piece_here + s * step_bytes, step_bytes);
    }
    wait_for_stores();  // they have arrived
    Flag(gathered.arrived.of[peer][rank * large.pieces + piece]).store(call, cuda::memory_order_release);
  }
}

template <int kGroups, int kColumns>
__global__ void __launch_bounds__(TileShape<kGroups, kColumns>::kThreads)
    all_gather_gemm_large(Args args, const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                          const __grid_constant__ Gathered gathered, Large large, int rank, int world, uint32_t call) {
  using Shape = TileShape<kGroups, kColumns>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const int m = static_cast<int>(args.m), n = static_cast<int>(args.n);
  if (blockIdx.x < large.sending) {
    return send_pieces(*reinterpret_cast<SendingShared*>(memory), a, gathered, large, m, rank, world, call);
  }

  auto& shared = *reinterpret_cast<typename Shape::Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int s = 0; s < Shape::kStages; ++s) {
      init_barrier(shared.full[s], 1);
      init_barrier(shared.empty[s], 4 * kGroups);  // one arrival of each warp that multiplies
    }
    make_barriers_visible();
  }
  __syncthreads();
  // Tiles that share columns of b follow each other.
  const int tile = static_cast<int>(blockIdx.x) - large.sending, tile_rows = large.rows / Shape::kRows;
  const int row = tile % tile_rows * Shape::kRows, column = tile / tile_rows * kColumns;
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  typename Shape::Ring at;

  if (group == kGroups) {
    if constexpr (kGroups > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x % 128 / 32 != 0) return;
    const bf16* rows = gathered.buffers.of[rank] + call % 2 * large.steps * int64_t{large.rows} * kDepth;
    const int source = row / m + lane;  // each lane waits for one of the ranks whose rows are in the tile
    const bool waits = source < world && source * m < row + Shape::kRows;
    for (int step = 0; step < large.steps; ++step, at.advance()) {
      auto& stage = shared.stages[at.stage];
      uint64_t& full = shared.full[at.stage];
      if (lane == 0) {
        wait_barrier(shared.empty[at.stage], at.parity ^ 1);
        arrive_and_expect(full, sizeof stage);
        load_box(stage.b, b, column, step * kDepth, full);  // need not wait for others
      }
      if (step % large.piece_steps == 0) {
        if (waits) {
          uint32_t& flag = gathered.arrived.of[rank][source * large.pieces + step / large.piece_steps];
          while (Flag(flag).load(cuda::memory_order_acquire) < call) {
          }
        }
        __syncwarp();
        asm volatile("fence.proxy.async;" ::: "memory");  // flags are read by threads, what they guard by copies
      }
      if (lane == 0) {
        load_bytes(stage.a, rows + (int64_t{step} * large.rows + row) * kDepth, sizeof stage.a, full);
      }
    }
    return;
  }

  if constexpr (kGroups > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  typename Shape::Ring before;
  float sums[kColumns / 2] = {};
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
    __syncwarp();  // each lane has waited for its own part of the product of the step before
    if (lane == 0) arrive(shared.empty[before.stage]);
    before.advance();
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

  // Groups of eight rows and of eight columns are whole. Lanes exchange what they have, so that each stores 16 bytes.
  const int first_row = row + threadIdx.x / 32 * 16 + lane / 4, first_column = column + lane % 4 * 8;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = first_row + 8 * half;
    bf16* to = args.c + int64_t{r} * n + first_column;
#pragma unroll
    for (int g = 0; g < kColumns / 8; g += 4) {
      uint32_t pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) pairs[i] = pack(sums[4 * (g + i) + 2 * half], sums[4 * (g + i) + 2 * half + 1]);
      const uint4 eight = exchange(pairs);
      if (r < world * m && first_column + 8 * g < n) *reinterpret_cast<uint4*>(to + 8 * g) = eight;
    }
  }
}

// Other sizes: tiles by mma.sync, of rows as they are.

constexpr int kMostComputing = 16;  // blocks; with those that send, all are resident at once

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
    multiply_tile(buffers, a + int64_t{row} * k, k, rows, args.b + int64_t{column} * k, k, n - column, k, sums);

    bf16* c = args.c + (int64_t{source} * m + row) * n + column;
    const auto inside = [&](int i) { return tile_row(i) < rows && tile_column(i) < n - column; };
    const auto at = [&](int i) { return c + int64_t{tile_row(i)} * n + tile_column(i); };
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
        // Few rows or columns are bound by memory or latency: small tiles, so that more blocks take part.
        wide_(rows(args) >= Wide::kRows && args.n >= 256),
        large_(divide(args, wide_ ? Wide::kRows : Narrow::kRows)),
        a_(describe(args.a, args.m, args.k, static_cast<int>(args.m))),
        b_(describe(args.b, args.n, args.k, wide_ ? 256 : 32)),
        buffers_(rank, 2 * sizeof(bf16) * static_cast<size_t>(large_.rows) * static_cast<size_t>(args.k)),
        arrived_(rank, sizeof(uint32_t) * static_cast<size_t>(world_ * large_.pieces)) {}

  static bool suits(const Args& args) {
    return args.m % 8 == 0 && args.m <= 128 && args.n % 8 == 0 && args.k % kDepth == 0;
  }

  void run(const Args& args, cudaStream_t stream, uint32_t call) {
    if (wide_) {
      launch<2, 256>(args, stream, call);
    } else {
      launch<1, 32>(args, stream, call);
    }
  }

 private:
  using Wide = TileShape<2, 256>;
  using Narrow = TileShape<1, 32>;

  int64_t rows(const Args& args) const { return world_ * args.m; }
  Large divide(const Args& args, int tile_rows) const {
    Large large{};
    large.rows = static_cast<int>((rows(args) + tile_rows - 1) / tile_rows * tile_rows);
    large.steps = static_cast<int>(args.k / kDepth);
    large.piece_steps = static_cast<int>(kPieceBytes / (args.m * kDepth * sizeof(bf16)));
    large.pieces = (large.steps + large.piece_steps - 1) / large.piece_steps;
    large.sending = std::min(kMostSending, large.pieces * world_);
    return large;
  }

  template <int kGroups, int kColumns>
  void launch(const Args& args, cudaStream_t stream, uint32_t call) {
    using Shape = TileShape<kGroups, kColumns>;
    const auto kernel = all_gather_gemm_large<kGroups, kColumns>;
    const int tiles = large_.rows / Shape::kRows * static_cast<int>((args.n + kColumns - 1) / kColumns);
    // Blocks that send come first: they start first, on all ranks, and no other block waits for one that has not
    // started.
    const auto blocks = static_cast<unsigned>(large_.sending + tiles);
    constexpr int kBytes = std::max(sizeof(typename Shape::Shared), sizeof(SendingShared));
    fabricbench::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                            "cudaFuncSetAttribute");
    kernel<<<blocks, Shape::kThreads, kBytes, stream>>>(
        args, a_, b_, {buffers_.peers<bf16>(), arrived_.peers<uint32_t>()}, large_, rank_, world_, call);
  }

  int rank_, world_;
  bool wide_;
  Large large_;
  CUtensorMap a_, b_;
  fabricbench::PeerMemory buffers_, arrived_;
};

class SmallProduct {
 public:
  SmallProduct(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        stripes_((args.m + kTileRows - 1) / kTileRows),
        shard_((args.m * args.k + 7) / 8 * 8),  // every shard begins at a multiple of 16 bytes
        shards_(rank, 2 * static_cast<size_t>(world_ * shard_) * sizeof(bf16)),
        arrived_(rank, static_cast<size_t>(world_ * stripes_) * sizeof(uint32_t)) {}

  void run(const Args& args, cudaStream_t stream, uint32_t call) {
    const int64_t tiles = world_ * stripes_ * ((args.n + kTileColumns - 1) / kTileColumns);
    const int64_t blocks = (world_ - 1) * stripes_ + std::min<int64_t>(kMostComputing, tiles);
    all_gather_gemm<<<static_cast<unsigned>(blocks), kTileThreads, 0, stream>>>(
        args, shards_.peers<bf16>(), arrived_.peers<uint32_t>(), shard_, rank_, world_, call);
  }

 private:
  int rank_, world_;
  int64_t stripes_, shard_;
  fabricbench::PeerMemory shards_, arrived_;
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
//|     // TODO: enqueue the gather and the product
//|   }
//| };
// [/solution]
