// Barriers, atomic operations and hand-overs.
//   block WARPS          __syncthreads of one block, cycles
//   cluster N            cluster.sync of N blocks of one warp, cycles
//   cluster_relaxed N    the same without order of memory: arrive.relaxed and wait
//   atomic               atom.add of global memory whose result the next one adds, cycles
//   ping_pong            two blocks hand a word of global memory to and fro by compare-and-swap; ns of a round trip
//   flag                 two blocks signal each other by volatile words behind __threadfence; ns of one way
//   atomics WORDS        additions to global memory without a result, lanes WORDS words apart, whole chip, Gops/s
#include "measure.h"

constexpr int kTimes = 64;

__global__ void block_barriers(Span* spans) {
  __syncthreads();
  const long long begin = now();
#pragma unroll
  for (int k = 0; k < kTimes; ++k) asm volatile("bar.sync 0;" ::: "memory");
  const long long end = now();
  if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {begin, end};
}

__device__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
template <bool kRelaxed>
__global__ void cluster_barriers(Span* spans) {
  cluster_barrier();
  const long long begin = now();
#pragma unroll
  for (int k = 0; k < kTimes; ++k) {
    if constexpr (kRelaxed)
      asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    else
      cluster_barrier();
  }
  const long long end = now();
  cluster_barrier();
  if (threadIdx.x == 0) spans[blockIdx.x] = {begin, end};
}

__global__ void chained_atomics(unsigned* word, Span* span, unsigned* sink) {
  unsigned x = 1;
  const long long begin = now();
#pragma unroll
  for (int k = 0; k < kTimes; ++k)
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %0;" : "+r"(x) : "l"(word) : "memory");
  const long long end = now();
  *sink = x;
  *span = {begin, end};
}

// Block b waits for the word b and makes it the other's.
__global__ void hand_over(unsigned* word, int rounds) {
  if (threadIdx.x != 0) return;
  const unsigned mine = blockIdx.x, other = 1 - mine;
  for (int k = 0; k < rounds; ++k) {
    while (atomicCAS(word, mine, other) != mine) continue;
  }
}

// Block 0 begins; each word is on a line of its own.
__global__ void signal_each_other(volatile unsigned* words, int rounds) {
  volatile unsigned* const mine = words + 32 * blockIdx.x;
  const volatile unsigned* const theirs = words + 32 * (1 - blockIdx.x);
  for (unsigned k = 1; k <= static_cast<unsigned>(rounds); ++k) {
    while (blockIdx.x == 1 && *theirs != k) continue;
    __threadfence();
    *mine = k;
    while (blockIdx.x == 0 && *theirs != k) continue;
  }
}

__global__ void __launch_bounds__(1024) add_words(unsigned* words, size_t pitch, int rounds) {
  unsigned* const p = words + (size_t{blockIdx.x} * blockDim.x + threadIdx.x) * pitch;
#pragma unroll 8
  for (int k = 0; k < rounds; ++k) asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(p) : "memory");
}

double cycles_of_clusters(int blocks, bool relaxed) {
  const auto spans = spans_of(static_cast<size_t>(blocks), [&](Span* all) {
    launch_clusters(relaxed ? cluster_barriers<true> : cluster_barriers<false>, blocks, 32, 0, blocks, all);
  });
  return whole_span({spans[0]}) / kTimes;
}

int main(int count, char** values) {
  Arguments arguments(count, values,
                      "sync block WARPS|cluster N|cluster_relaxed N|atomic|ping_pong|flag|atomics WORDS");
  const std::string what = arguments.text();
  if (what == "block") {
    const int warps = arguments.number();
    const auto spans = spans_of(static_cast<size_t>(warps),
                                [&](Span* all) { block_barriers<<<1, static_cast<unsigned>(32 * warps)>>>(all); });
    report(whole_span({spans[0]}) / kTimes, "cycles");
  } else if (what == "cluster" || what == "cluster_relaxed") {
    report(cycles_of_clusters(arguments.number(), what == "cluster_relaxed"), "cycles");
  } else if (what == "atomic") {
    auto* const words = zeroed_memory<unsigned>(64);
    const auto launch = [&](Span* span) { chained_atomics<<<1, 1>>>(words, span, words + 32); };
    report(whole_span(spans_of(1, launch)) / kTimes, "cycles");
  } else if (what == "ping_pong") {
    auto* const word = zeroed_memory<unsigned>(1);
    const auto time = [&](int rounds) { return elapsed([&] { hand_over<<<2, 32>>>(word, rounds); }); };
    time(1);
    const double few = time(20), many = time(120);
    report(1e3 * (many - few) / 100, "ns");
  } else if (what == "flag") {
    const auto time = [](int rounds) {
      auto* const words = zeroed_memory<unsigned>(64);
      return elapsed([&] { signal_each_other<<<2, 1>>>(words, rounds); });
    };
    time(1);
    const double few = time(20), many = time(120);
    report(1e3 * (many - few) / 200, "ns");
  } else if (what == "atomics") {
    const int pitch = arguments.number(), blocks = 2 * sm_count();
    auto* const words =
        zeroed_memory<unsigned>(size_t{1024} * static_cast<size_t>(blocks) * static_cast<size_t>(pitch));
    const auto time = [&](int rounds) {
      return elapsed(
          [&] { add_words<<<static_cast<unsigned>(blocks), 1024>>>(words, static_cast<size_t>(pitch), rounds); });
    };
    time(1);
    const double few = time(8), many = time(24);
    report(16.0 * 1024 * blocks / (many - few) / 1e3, "Gops/s");
  } else {
    arguments.refuse(what);
  }
}
