// tcgen05.mma with both operands in shared memory; operands are zero.
//   latency TYPE GROUP M N     cycles from its issue to the end of the wait for its commit; GROUP: 1 or 2 blocks
//   rate TYPE GROUP M N        FLOP/cycle/SM of 256 of them before a commit; TYPE bf16|e4m3
#include "measure.h"

constexpr int kRowBytes = 128, kMostRows = 256;

struct Memory {
  alignas(1024) unsigned char a[kMostRows * kRowBytes];
  alignas(1024) unsigned char b[kMostRows * kRowBytes];
  alignas(8) uint64_t done;
  unsigned tensor;
};

// Rows of 128 bytes, swizzled; groups of eight rows 1024 bytes apart.
__device__ uint64_t describe_rows(const void* p) {
  return (shared_address(p) >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
}

template <int kGroup>
__device__ void sync_group() {
  if constexpr (kGroup == 1)
    __syncthreads();
  else
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

template <int kGroup, bool kE4m3>
__device__ void multiply(unsigned sums, uint64_t a, uint64_t b, unsigned shape, unsigned adds) {
#define MULTIPLY(group, kind)                                                                                \
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %4, 0;\n\ttcgen05.mma.cta_group::" group ".kind::" kind \
               " [%0], %1, %2, %3, p;\n\t}" ::"r"(sums),                                                     \
               "l"(a), "l"(b), "r"(shape), "r"(adds)                                                         \
               : "memory")
  if constexpr (kGroup == 1 && !kE4m3)
    MULTIPLY("1", "f16");
  else if constexpr (kGroup == 1)
    MULTIPLY("1", "f8f6f4");
  else if constexpr (!kE4m3)
    MULTIPLY("2", "f16");
  else
    MULTIPLY("2", "f8f6f4");
#undef MULTIPLY
}

template <int kGroup>
__device__ void commit(unsigned barrier) {
  if constexpr (kGroup == 1)
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
                 : "memory");
  else
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            barrier),
        "h"(static_cast<short>(3))
        : "memory");
}

__device__ void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred done;\nAGAIN:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra "
      "AGAIN;\n\t}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// `times` batches of `depth` products, each with a commit that all threads wait for; the last batch is measured.
template <int kGroup, bool kE4m3>
__global__ void __launch_bounds__(128) repeat(unsigned shape, int depth, int times, Span* span) {
  extern __shared__ unsigned char raw[];
  auto& memory = *reinterpret_cast<Memory*>((reinterpret_cast<uintptr_t>(raw) + 1023) & ~uintptr_t{1023});
  const unsigned barrier = shared_address(&memory.done);
  for (unsigned k = threadIdx.x; k < 2 * kMostRows * kRowBytes / 4; k += 128)
    reinterpret_cast<unsigned*>(memory.a)[k] = 0;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x < 32) {
    const unsigned at = shared_address(&memory.tensor);
    if constexpr (kGroup == 1)
      asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(at) : "memory");
    else
      asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(at) : "memory");
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  sync_group<kGroup>();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const unsigned sums = memory.tensor;
  const uint64_t a = describe_rows(memory.a), b = describe_rows(memory.b);
  const bool issues = blockIdx.x == 0 && threadIdx.x == 0;
  long long begin = 0, end = 0;
  for (int time = 0; time < times; ++time) {
    sync_group<kGroup>();
    begin = now();
    if (issues) {
      multiply<kGroup, kE4m3>(sums, a, b, shape, 0);
#pragma unroll 8
      for (int k = 1; k < depth; ++k) multiply<kGroup, kE4m3>(sums, a, b, shape, 1);
      commit<kGroup>(barrier);
    }
    wait(barrier, static_cast<unsigned>(time) & 1);
    end = now();
  }
  if (issues) *span = {begin, end};
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  sync_group<kGroup>();
  if (threadIdx.x < 32) {
    if constexpr (kGroup == 1)
      asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" ::"r"(sums) : "memory");
    else
      asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 256;" ::"r"(sums) : "memory");
  }
}

int main(int count, char** values) {
  Arguments arguments(count, values, "tcgen05 latency|rate bf16|e4m3 1|2 M N");
  const std::string what = arguments.text(), type = arguments.text();
  const int group = arguments.number(), m = arguments.number(), n = arguments.number();
  if (what != "latency" && what != "rate") arguments.refuse(what);
  if (type != "bf16" && type != "e4m3") arguments.refuse(type);
  if (group > 2) fail("a group has 1 or 2 blocks");
  // Sums of f32; types of A and B; N / 8; M / 16.
  const unsigned types = type == "bf16" ? 1u << 7 | 1u << 10 : 0u;
  const unsigned shape = 1u << 4 | types | static_cast<unsigned>(n / 8) << 17 | static_cast<unsigned>(m / 16) << 24;
  const int depth = what == "latency" ? 1 : 256;
  constexpr size_t kShared = sizeof(Memory) + 1024;
  const auto kernel = type == "bf16" ? (group == 1 ? repeat<1, false> : repeat<2, false>)
                                     : (group == 1 ? repeat<1, true> : repeat<2, true>);
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  const auto spans = spans_of(
      1, [&](Span* span) { launch_clusters(kernel, group, 128, kShared, group, shape, depth, 2, span); }, true);
  const double cycles = whole_span(spans);
  if (what == "latency") {
    report(cycles, "cycles");
  } else {
    report(2.0 * m * n * (type == "bf16" ? 16 : 32) * depth / cycles / group, "FLOP/cycle/SM");
  }
}
