// A ring of stages between copies and products: one warp copies tiles into shared memory (cp.async.bulk), a warp group
// multiplies them (wgmma). Cycles for a tile with 2 to 5 stages, and with the copies or the products left out. Operands
// are zero, so that the order of elements in a tile does not matter.
//
// Two mixes: `products` multiplies four times as long, `copies` copies three times as many bytes.
#include <cstdint>

#include "shapes.h"

constexpr int kDepth = 64;  // of a tile: rows of 128 bytes
constexpr int kRowBytes = 2 * kDepth, kRowsOfA = 64, kRowsOfB = 128;
constexpr int kMostTiles = 40;

__device__ inline long long now() {
  long long cycles = 0;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}
__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// mbarriers and copies

__device__ inline void init_barrier(uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
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
__device__ inline void copy_bulk(void* to, const void* from, unsigned bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// Products: rows of 128 bytes, swizzled; groups of eight rows 1024 bytes apart.

__device__ inline uint64_t describe_rows(const void* p) {
  return (shared_address(p) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define TEN(t) "%" t "0, %" t "1, %" t "2, %" t "3, %" t "4, %" t "5, %" t "6, %" t "7, %" t "8, %" t "9"
#define NUMBERS TEN("") ", " TEN("1") ", " TEN("2") ", " TEN("3") ", " TEN("4") ", " TEN("5") ", %60, %61, %62, %63"
#define OUT_4(k) "+f"(d[k]), "+f"(d[k + 1]), "+f"(d[k + 2]), "+f"(d[k + 3])
#define OUT_16(k) OUT_4(k), OUT_4(k + 4), OUT_4(k + 8), OUT_4(k + 12)

// 64 rows of A times 128 rows of B, over 16 elements.
__device__ inline void multiply_group(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NUMBERS "}, %64, %65, 1, 1, 1, 0, 0;"
               : OUT_16(0), OUT_16(16), OUT_16(32), OUT_16(48)
               : "l"(a), "l"(b)
               : "memory");
}

struct alignas(1024) Tile {
  unsigned char a[kRowsOfA * kRowBytes], b[kRowsOfB * kRowBytes];
};

template <int kStages>
struct Memory {
  Tile stages[kStages];
  uint64_t full[kStages], empty[kStages];
};

// Where a ring of stages stands.
template <int kStages>
struct Place {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

struct Mix {
  unsigned bytes;  // of a tile that are copied
  int groups;      // of products, for each tile
  bool copies, products;
};

template <int kStages>
__global__ void __launch_bounds__(160)
    pipeline(Mix mix, int tiles, const unsigned char* memory, long long* taken, float* sink) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  auto& shared = *reinterpret_cast<Memory<kStages>*>(bytes);
  for (size_t k = threadIdx.x; k < sizeof shared.stages / 4; k += blockDim.x) reinterpret_cast<unsigned*>(bytes)[k] = 0;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init_barrier(&shared.full[s], 1);
      init_barrier(&shared.empty[s], 128);
    }
  }
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const long long begin = now();
  if (threadIdx.x >= 128) {
    if (threadIdx.x != 128 || !mix.copies) return;
    Place<kStages> at;
    for (int k = 0; k < tiles; ++k, at.advance(), memory += sizeof(Tile)) {
      wait_barrier(&shared.empty[at.stage], at.parity ^ 1);
      expect_bytes(&shared.full[at.stage], mix.bytes);
      copy_bulk(&shared.stages[at.stage], memory, mix.bytes, &shared.full[at.stage]);
    }
    return;
  }
  float d[64] = {};
  Place<kStages> at;
  for (int k = 0; k < tiles; ++k, at.advance()) {
    const Tile& tile = shared.stages[at.stage];
    if (mix.copies) wait_barrier(&shared.full[at.stage], at.parity);
    if (mix.products) {
      const uint64_t a = describe_rows(tile.a), b = describe_rows(tile.b);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int group = 0; group < mix.groups; ++group) multiply_group(d, a + 2 * (group % 4), b + 2 * (group % 4));
      asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    arrive(&shared.empty[at.stage]);
  }
  if (threadIdx.x == 0) *taken = now() - begin;
  float sum = 0;
#pragma unroll
  for (float x : d) sum += x;
  sink[threadIdx.x] = sum;
}

// Cycles for a tile, without the filling of the ring.
template <int kStages>
double cycles(Mix mix) {
  static auto* const memory = [] {
    unsigned char* tiles = nullptr;
    CHECK(cudaMalloc(&tiles, kMostTiles * sizeof(Tile)));
    CHECK(cudaMemset(tiles, 0, kMostTiles * sizeof(Tile)));
    return tiles;
  }();
  static long long* const taken = [] {
    long long* result = nullptr;
    CHECK(cudaMalloc(&result, sizeof *result));
    return result;
  }();
  static float* const sink = [] {
    float* sums = nullptr;
    CHECK(cudaMalloc(&sums, 128 * sizeof *sums));
    return sums;
  }();
  constexpr int kShared = sizeof(Memory<kStages>);
  CHECK(cudaFuncSetAttribute(pipeline<kStages>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  const auto with = [&](int tiles) {
    long long result = 0;
    pipeline<kStages><<<1, 160, kShared>>>(mix, tiles, memory, taken, sink);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&result, taken, sizeof result, cudaMemcpyDeviceToHost));
    return static_cast<double>(result);
  };
  constexpr int kFew = 10;
  with(kMostTiles);  // the tiles are in L2 from here on
  const double few = with(kFew);
  return (with(kMostTiles) - few) / (kMostTiles - kFew);
}

template <int kStages>
void report(const char* name, Mix mix) {
  const auto print = [&](const char* what, bool copies, bool products) {
    mix.copies = copies;
    mix.products = products;
    std::printf("%s.%s.%d %.1f\n", name, what, kStages, cycles<kStages>(mix));
  };
  print("both", true, true);
  print("copies", true, false);
  print("products", false, true);
}

int main() {
  const auto all = [](const char* name, Mix mix) {
    report<2>(name, mix);
    report<3>(name, mix);
    report<4>(name, mix);
    report<5>(name, mix);
  };
  all("products", {.bytes = sizeof Tile::a, .groups = 8});
  all("copies", {.bytes = sizeof(Tile), .groups = 2});
}
