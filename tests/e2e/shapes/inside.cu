// Relations inside one multiprocessor: banks of shared memory, resident blocks, caches, units, tensor cores beside
// loads. Times are cycles of clock64(), from the first warp's begin to the last one's end, or microseconds between
// events.
//
//   inside              all figures
//   inside traffic N    N warps of each block read the same lines, for the record's count of bytes
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "shapes.h"

struct Interval {
  long long begin, end;
};

// No access to memory moves across it.
__device__ inline long long now() {
  long long cycles = 0;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

__device__ inline void report(Interval* intervals, long long begin, long long end) {
  if (threadIdx.x % 32 == 0) intervals[threadIdx.x / 32] = {begin, end};
}

__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

template <class T>
T* device_memory(size_t count) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

// Cycles of a block with that many warps, each of which reports. The launch before it has warmed the caches.
template <class Launch>
double cycles(int warps, Launch launch) {
  std::vector<Interval> all(static_cast<size_t>(warps));
  static Interval* const intervals = device_memory<Interval>(32);
  for (int k = 0; k < 2; ++k) {
    launch(intervals);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaMemcpy(all.data(), intervals, all.size() * sizeof(Interval), cudaMemcpyDeviceToHost));
  Interval whole = all[0];
  for (const Interval& one : all) whole = {std::min(whole.begin, one.begin), std::max(whole.end, one.end)};
  return static_cast<double>(whole.end - whole.begin);
}

// Banks

constexpr int kWords = 32 * 33;

// Lane k loads word k · stride, again and again: eight loads before the first result is used.
__global__ void __launch_bounds__(kThreads) load_shared(int stride, Interval* intervals, unsigned* sink) {
  constexpr int kRounds = 24;
  __shared__ unsigned words[kWords];
  for (int k = static_cast<int>(threadIdx.x); k < kWords; k += kThreads) words[k] = 0;
  __syncthreads();
  unsigned at = shared_address(&words[threadIdx.x % 32 * stride]), sum = 0;
  const long long begin = now();
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
    unsigned values[8];
#pragma unroll
    for (unsigned& value : values) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory");
#pragma unroll
    for (unsigned value : values) sum |= value;
  }
  const long long end = now();
  sink[threadIdx.x] = sum;
  report(intervals, begin, end);
}

void banks() {
  auto* const sink = device_memory<unsigned>(kThreads);
  for (int stride : {0, 1, 2, 4, 8, 16, 32, 33}) {
    const double time = cycles(kThreads / 32, [&](Interval* all) { load_shared<<<1, kThreads>>>(stride, all, sink); });
    std::printf("bank.%d %.0f\n", stride, time);
  }
}

// Resident blocks

// Each load needs the one before it. The words are zero.
__global__ void chase(int loads, const unsigned* words, unsigned* sink) {
  unsigned at = 0;
  const unsigned* const own = words + 32 * blockIdx.x;
#pragma unroll 1
  for (int k = 0; k < loads; ++k) at = __ldcg(own + at);
  if (at != 0) sink[0] = at;
}

void occupancy(Gpus& gpus) {
  const int sms = attribute(cudaDevAttrMultiProcessorCount), blocks = 12 * sms;  // whole waves of 1, 2, 3 and 4
  const int per_sm = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const int reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  CHECK(cudaFuncSetAttribute(chase, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)));
  auto* const words = gpus.allocate<unsigned>(0, size_t{32} * static_cast<size_t>(blocks));
  auto* const sink = gpus.allocate<unsigned>(0, 1);
  const auto time = [&](size_t shared) {
    const auto with = [&](int loads) {
      return gpus.time([&](int, cudaStream_t stream) { chase<<<blocks, 32, shared, stream>>>(loads, words, sink); })
          .of[0];
    };
    constexpr int kFew = 4, kMany = 20;
    with(kFew);  // the words are in L2 from here on
    const double few = with(kFew);
    return with(kMany) - few;
  };
  for (int resident : {4, 2, 1}) {
    const int fits = per_sm / resident - reserved;
    std::printf("resident.%d %.4f\n", resident, time(static_cast<size_t>(fits)));
    if (resident > 1) std::printf("exceeds.%d %.4f\n", resident, time(static_cast<size_t>(fits) + 1));
  }
}

// Caches

constexpr size_t kPassed = size_t{kUnrolled} * kThreads * sizeof(uint4);  // by a block, in one round of its loop

// Each block reads bytes of its own, so often. `threads` share a pass; others read the same lines.
__global__ void __launch_bounds__(kThreads)
    read_own(const uint4* memory, size_t vectors, int passes, unsigned threads, unsigned* sink) {
  const uint4* const own = memory + vectors * blockIdx.x;
  unsigned sum = 0;
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 1
    for (size_t k = threadIdx.x % threads; k < vectors; k += size_t{kUnrolled} * threads) {
      uint4 values[kUnrolled];
#pragma unroll
      for (int j = 0; j < kUnrolled; ++j) values[j] = __ldca(own + k + size_t{threads} * j);
#pragma unroll
      for (const uint4& value : values) sum |= value.x;
    }
  }
  if (sum != 0) sink[0] = sum;
}

void caches(Gpus& gpus) {
  const auto blocks = static_cast<size_t>(attribute(cudaDevAttrMultiProcessorCount));
  const auto l2 = static_cast<size_t>(attribute(cudaDevAttrL2CacheSize));
  auto* const sink = gpus.allocate<unsigned>(0, 1);
  // Picoseconds for a byte that was read before, of all multiprocessors together.
  const auto time = [&](size_t bytes_each, int more) {
    auto* const memory = device_memory<uint4>(blocks * bytes_each / sizeof(uint4));
    const auto with = [&](int passes) {
      return gpus
          .time([&](int, cudaStream_t stream) {
            read_own<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(memory, bytes_each / sizeof(uint4), passes,
                                                                             kThreads, sink);
          })
          .of[0];
    };
    with(1);  // what L2 can hold is there
    const double one = with(1), again = (with(1 + more) - one) / more;
    CHECK(cudaFree(memory));
    return 1e6 * again / static_cast<double>(blocks * bytes_each);
  };
  const auto share = [&](size_t bytes) { return bytes / blocks / kPassed * kPassed; };
  std::printf("again.l1 %.5f\n", time(kPassed, 8));
  std::printf("again.l2 %.5f\n", time(share(l2 / 4 * 3), 2));
  std::printf("again.memory %.5f\n", time(share(l2 / 2 * 3) + kPassed, 1));
}

// Nothing else of the program reads or writes memory to speak of.
void traffic(unsigned warps) {
  constexpr unsigned kBlocks = 16;
  constexpr size_t kEach = kPassed;
  auto* const memory = device_memory<uint4>(kBlocks * kEach / sizeof(uint4));
  read_own<<<kBlocks, 32 * warps>>>(memory, kEach / sizeof(uint4), 1, 32, device_memory<unsigned>(1));
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::printf("bytes %zu\n", kBlocks * kEach);
}

// Units

enum class Work { fma, integer, f64, none };

// Four chains for each thread; with half of a block's warps a unit is never idle.
template <class T, class Apply>
__device__ void repeat(int rounds, T start, unsigned* sink, Apply apply) {
  constexpr int kChains = 4, kTimes = 64;
  T x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = start + static_cast<T>(c);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < kTimes; ++k) {
#pragma unroll
      for (T& chain : x) apply(chain);
    }
  }
  T sum = 0;
#pragma unroll
  for (T chain : x) sum += chain;
  sink[threadIdx.x] = static_cast<unsigned>(sum);
}

__device__ void perform(Work work, int rounds, unsigned* sink) {
  switch (work) {
    case Work::fma:
      return repeat(rounds, 1.0f, sink, [](float& x) { asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x)); });
    case Work::integer:
      return repeat(rounds, 1u, sink, [](unsigned& x) { asm volatile("xor.b32 %0, %0, 1431655765;" : "+r"(x)); });
    case Work::f64:
      return repeat(rounds, 1.0, sink, [](double& x) { asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(x)); });
    case Work::none:
      return;
  }
}

// Every scheduler has warps of both halves of the block.
__global__ void __launch_bounds__(kThreads) two_kinds(Work first, Work second, Interval* intervals, unsigned* sink) {
  constexpr int kRounds = 4;
  __syncthreads();
  const long long begin = now();
  perform(threadIdx.x < blockDim.x / 2 ? first : second, kRounds, sink);
  const long long end = now();
  report(intervals, begin, end);
}

void units() {
  auto* const sink = device_memory<unsigned>(kThreads);
  const auto time = [&](const char* name, unsigned threads, Work first, Work second) {
    const double taken = cycles(static_cast<int>(threads) / 32,
                                [&](Interval* all) { two_kinds<<<1, threads>>>(first, second, all, sink); });
    std::printf("units.%s %.0f\n", name, taken);
  };
  time("fma", kThreads, Work::fma, Work::none);
  time("integer", kThreads, Work::integer, Work::none);
  time("f64", kThreads, Work::f64, Work::none);
  time("fma_and_fma", kThreads, Work::fma, Work::fma);
  time("integer_and_integer", kThreads, Work::integer, Work::integer);
  time("fma_and_integer", kThreads, Work::fma, Work::integer);
}

// Tensor cores beside loads

__device__ void multiply(int rounds, unsigned* sink) {
  constexpr int kChains = 4;
  float d[kChains][4] = {};
  const unsigned a = 0, b = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (auto& sums : d) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, "
          "{%0, %1, %2, %3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(a), "r"(b));
    }
  }
  float sum = 0;
#pragma unroll
  for (auto& sums : d) sum += sums[0];
  sink[threadIdx.x] = static_cast<unsigned>(sum);
}

__device__ void load(int rounds, const uint4* memory, unsigned* sink) {
  constexpr int kLoads = 8;
  unsigned sum = 0;
  const uint4* at = memory + threadIdx.x;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    uint4 values[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) values[k] = __ldcg(at + k * kThreads);
#pragma unroll
    for (const uint4& value : values) sum |= value.x;
    at += kLoads * kThreads;
  }
  sink[threadIdx.x] = sum;
}

// Every scheduler has warps that multiply and warps that load.
__global__ void __launch_bounds__(kThreads)
    multiply_beside_loads(int multiplications, int loads, const uint4* memory, Interval* intervals, unsigned* sink) {
  __syncthreads();
  const long long begin = now();
  if (threadIdx.x < kThreads / 2) {
    multiply(multiplications, sink);
  } else {
    load(loads, memory, sink);
  }
  const long long end = now();
  report(intervals, begin, end);
}

void tensor() {
  constexpr int kMostRounds = 64;
  auto* const sink = device_memory<unsigned>(kThreads);
  auto* const memory = device_memory<uint4>(size_t{kMostRounds} * 8 * kThreads);
  const auto time = [&](int multiplications, int loads) {
    return cycles(kThreads / 32, [&](Interval* all) {
      multiply_beside_loads<<<1, kThreads>>>(multiplications, loads, memory, all, sink);
    });
  };
  // As much of both as takes about as long: then the sum is twice as much as the larger.
  constexpr int kLoads = 16, kTrial = 8;
  const double loads = time(0, kLoads);
  const int multiplications = std::max(1, static_cast<int>(kTrial * loads / time(kTrial, 0)));
  std::printf("tensor.loads %.0f\n", loads);
  std::printf("tensor.products %.0f\n", time(multiplications, 0));
  std::printf("tensor.both %.0f\n", time(multiplications, kLoads));
}

int main(int count, char** values) {
  if (count == 3 && std::strcmp(values[1], "traffic") == 0) {
    traffic(static_cast<unsigned>(std::atoi(values[2])));
    return 0;
  }
  Gpus gpus(1);
  banks();
  occupancy(gpus);
  caches(gpus);
  units();
  tensor();
}
