// C = A × B with the tensor cores of a warp group (wgmma), bf16 into f32: A is M × K, B is N × K, C is M × N in bf16,
// as in gemm_mma.h. Tiles have rows of 64 elements along K, swizzled by the copies (TMA) that bring them.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "../../../examples/common/check.h"
#include "gemm_mma.h"

constexpr int kDepth = 64;  // of a tile: 128 bytes, the span of the swizzle

// The tensor map of a matrix by rows of k elements, for boxes of rows × 64.
inline CUtensorMap describe(const __nv_bfloat16* matrix, int rows, int k, int box_rows) {
  CUtensorMap map{};
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(k), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(k) * sizeof *matrix};
  const cuuint32_t box[] = {kDepth, static_cast<cuuint32_t>(box_rows)}, steps[] = {1, 1};
  if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<__nv_bfloat16*>(matrix), sizes,
                             strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    fail("no tensor map for %d x %d", rows, k);
  return map;
}

__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// mbarriers

__device__ inline void init_barrier(uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ inline void make_barriers_visible() {
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void expect_bytes(uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ inline void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ inline void wait_barrier(uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n .reg .pred done;\nAGAIN:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n @!done bra "
      "AGAIN;\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

__device__ inline void copy_box(void* to, const CUtensorMap& map, int k, int row, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(k), "r"(row), "r"(shared_address(barrier))
      : "memory");
}

// wgmma

// Rows of 128 bytes, swizzled; groups of eight rows 1024 bytes apart.
__device__ inline uint64_t describe_rows(const void* p) {
  return (shared_address(p) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

__device__ inline void fence_sums() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kNewest>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kNewest) : "memory");
}

#define TEN(t) "%" t "0, %" t "1, %" t "2, %" t "3, %" t "4, %" t "5, %" t "6, %" t "7, %" t "8, %" t "9"
#define SIXTY TEN("") ", " TEN("1") ", " TEN("2") ", " TEN("3") ", " TEN("4") ", " TEN("5")
#define NUMBERS_64 SIXTY ", %60, %61, %62, %63"
#define NUMBERS_128 \
  SIXTY ", " TEN("6") ", " TEN("7") ", " TEN("8") ", " TEN("9") ", " TEN("10") ", " TEN("11") ", %120, " \
                                                                                            "%121, %122, %123, %124, %125, %126, %127"
#define OUT_4(k) "+f"(d[k]), "+f"(d[k + 1]), "+f"(d[k + 2]), "+f"(d[k + 3])
#define OUT_16(k) OUT_4(k), OUT_4(k + 4), OUT_4(k + 8), OUT_4(k + 12)
#define OUT_64(k) OUT_16(k), OUT_16(k + 16), OUT_16(k + 32), OUT_16(k + 48)

__device__ inline void multiply_group(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NUMBERS_64 "}, %64, %65, 1, 1, 1, 0, 0;"
               : OUT_64(0)
               : "l"(a), "l"(b)
               : "memory");
}
__device__ inline void multiply_group(float (&d)[128], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" NUMBERS_128 "}, %128, %129, 1, 1, 1, 0, 0;"
               : OUT_64(0), OUT_64(64)
               : "l"(a), "l"(b)
               : "memory");
}

// 64 rows of A times all rows of B, along the depth of a tile: 16 elements are 32 bytes, two units of a descriptor.
template <int kSums>
__device__ void multiply_tile(float (&d)[kSums], const void* a, const void* b) {
  const uint64_t rows_of_a = describe_rows(a), rows_of_b = describe_rows(b);
#pragma unroll
  for (int i = 0; i < kDepth / 16; ++i) multiply_group(d, rows_of_a + 2 * i, rows_of_b + 2 * i);
}

// The 64 rows of a warp group.
template <int kSums>
__device__ void store_group(const float (&d)[kSums], int n, __nv_bfloat16* c) {
  const int thread = threadIdx.x % 128, row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
#pragma unroll
  for (int j = 0; j < kSums / 4; ++j) {
    store_pair(c + row * n + 8 * j + column, d[4 * j], d[4 * j + 1]);
    store_pair(c + (row + 8) * n + 8 * j + column, d[4 * j + 2], d[4 * j + 3]);
  }
}

// One warp group, 128 × 128; thread 0 asks for the next tiles before the group multiplies these.
struct alignas(1024) GroupStage {
  __nv_bfloat16 a[128][kDepth], b[128][kDepth];
};

struct GroupMemory {
  GroupStage stages[2];
  uint64_t full[2];
};

__global__ void __launch_bounds__(128) gemm_wgmma(int n, int k, const __grid_constant__ CUtensorMap a,
                                                  const __grid_constant__ CUtensorMap b, __nv_bfloat16* c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<GroupMemory*>(memory);
  const int row = blockIdx.x * 128, column = blockIdx.y * 128, steps = k / kDepth;
  const auto load = [&](int step) {
    GroupStage& stage = shared.stages[step % 2];
    uint64_t* full = &shared.full[step % 2];
    expect_bytes(full, sizeof stage);
    copy_box(stage.a, a, step * kDepth, row, full);
    copy_box(stage.b, b, step * kDepth, column, full);
  };
  if (threadIdx.x == 0) {
    init_barrier(&shared.full[0], 1);
    init_barrier(&shared.full[1], 1);
    make_barriers_visible();
    load(0);
  }
  __syncthreads();
  float upper[64] = {}, lower[64] = {};
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0 && step + 1 < steps) load(step + 1);
    wait_barrier(&shared.full[step % 2], step / 2 % 2);
    const GroupStage& stage = shared.stages[step % 2];
    fence_sums();
    multiply_tile(upper, stage.a, stage.b);
    multiply_tile(lower, stage.a[64], stage.b);
    commit_products();
    wait_for_products<0>();
    __syncthreads();  // the tiles may be overwritten
  }
  c += row * n + column;
  store_group(upper, n, c);
  store_group(lower, n, c + 64 * n);
}

// Warp-specialised: one warp group asks for tiles, up to four steps ahead, two multiply 64 × 256 each.
constexpr int kStages = 4;

struct alignas(1024) SpecialisedStage {
  __nv_bfloat16 a[128][kDepth], b[256][kDepth];
};

struct SpecialisedMemory {
  SpecialisedStage stages[kStages];
  uint64_t full[kStages], empty[kStages];
};

// Where a ring of stages stands.
struct StageOfRing {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

__global__ void __launch_bounds__(384) gemm_wgmma_specialised(int n, int k, const __grid_constant__ CUtensorMap a,
                                                              const __grid_constant__ CUtensorMap b, __nv_bfloat16* c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<SpecialisedMemory*>(memory);
  const int row = blockIdx.x * 128, column = blockIdx.y * 256, steps = k / kDepth;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init_barrier(&shared.full[s], 1);
      init_barrier(&shared.empty[s], 2);
    }
    make_barriers_visible();
  }
  __syncthreads();
  const int group = threadIdx.x / 128;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x != 0) return;
    StageOfRing at;
    for (int step = 0; step < steps; ++step, at.advance()) {
      SpecialisedStage& stage = shared.stages[at.stage];
      uint64_t* full = &shared.full[at.stage];
      wait_barrier(&shared.empty[at.stage], at.parity ^ 1);
      expect_bytes(full, sizeof stage);
      copy_box(stage.a, a, step * kDepth, row, full);
      copy_box(stage.b, b, step * kDepth, column, full);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float sums[128] = {};
  const int first_row = (group - 1) * 64;
  const bool signals = threadIdx.x % 128 == 0;
  StageOfRing at, before;
  for (int step = 0; step < steps; ++step, at.advance()) {
    const SpecialisedStage& stage = shared.stages[at.stage];
    wait_barrier(&shared.full[at.stage], at.parity);
    fence_sums();
    multiply_tile(sums, stage.a[first_row], stage.b);
    commit_products();
    if (step == 0) continue;
    wait_for_products<1>();  // the step before
    if (signals) arrive(&shared.empty[before.stage]);
    before.advance();
  }
  wait_for_products<0>();
  store_group(sums, n, c + (row + first_row) * n + column);
}

// The same in clusters of two blocks with the same rows of A: each asks for one half of them for both, so that L2 is
// asked for two thirds of the bytes. A stage is empty when the groups of both blocks have read it.
struct alignas(1024) ClusterStage {
  __nv_bfloat16 a[256][kDepth], b[128][kDepth];
};

struct ClusterMemory {
  ClusterStage stages[kStages];
  uint64_t full[kStages], empty[kStages];
};

__device__ inline unsigned rank_in_cluster() {
  unsigned rank = 0;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline void synchronise_cluster() {
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ inline void arrive_at(uint64_t* barrier, unsigned rank) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}
__device__ inline void wait_for_cluster(uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n .reg .pred done;\nAGAIN:\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      " @!done bra AGAIN;\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
// Into the shared memory of both blocks, and each one's own barrier.
__device__ inline void copy_box_to_both(void* to, const CUtensorMap& map, int k, int row, uint64_t* barrier) {
  constexpr uint16_t kBoth = 0b11;
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(&map), "r"(k), "r"(row), "r"(shared_address(barrier)), "h"(kBoth)
      : "memory");
}

__global__ void __cluster_dims__(1, 2, 1) __launch_bounds__(384)
    gemm_wgmma_cluster(int n, int k, const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                       __nv_bfloat16* c) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<ClusterMemory*>(memory);
  const int row = blockIdx.x * 256, column = blockIdx.y * 128, steps = k / kDepth;
  const unsigned rank = rank_in_cluster();
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init_barrier(&shared.full[s], 1);
      init_barrier(&shared.empty[s], 4);
    }
    make_barriers_visible();
  }
  synchronise_cluster();
  const int group = threadIdx.x / 128;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    StageOfRing at;
    for (int step = 0; threadIdx.x == 0 && step < steps; ++step, at.advance()) {
      ClusterStage& stage = shared.stages[at.stage];
      uint64_t* full = &shared.full[at.stage];
      wait_for_cluster(&shared.empty[at.stage], at.parity ^ 1);
      expect_bytes(full, sizeof stage);
      copy_box_to_both(stage.a[128 * rank], a, step * kDepth, row + 128 * rank, full);
      copy_box(stage.b, b, step * kDepth, column, full);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float upper[64] = {}, lower[64] = {};
    const int first_row = (group - 1) * 128;
    const unsigned other = threadIdx.x % 128;  // the block that this thread signals, if there is one
    StageOfRing at, before;
    for (int step = 0; step < steps; ++step, at.advance()) {
      const ClusterStage& stage = shared.stages[at.stage];
      wait_barrier(&shared.full[at.stage], at.parity);
      fence_sums();
      multiply_tile(upper, stage.a[first_row], stage.b);
      multiply_tile(lower, stage.a[first_row + 64], stage.b);
      commit_products();
      if (step == 0) continue;
      wait_for_products<1>();  // the step before
      if (other < 2) arrive_at(&shared.empty[before.stage], other);
      before.advance();
    }
    wait_for_products<0>();
    store_group(upper, n, c + (row + first_row) * n + column);
    store_group(lower, n, c + (row + first_row + 64) * n + column);
  }
  synchronise_cluster();  // the other block may still signal this one
}
