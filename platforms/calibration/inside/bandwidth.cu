// Bandwidths.
//   shared BITS         shared memory of one multiprocessor, loads of BITS a lane without conflicts: B/cycle/SM
//   l2 BITS MIB         loads past L1 of an array that L2 holds, by all multiprocessors: B/cycle/SM
//   dram BITS COUNT     loads of memory that no cache holds, COUNT in flight for each thread, full occupancy: GB/s
//   copy                a kernel that copies memory, 16 bytes a lane, four in flight: GB/s, read and written
//   memcpy              cudaMemcpyAsync from device to device: GB/s, read and written
//   blocks THREADS      two blocks a multiprocessor, each thread loads 8 bytes of memory and ends: GB/s
//   dsmem N             a cluster's blocks load from the next block's shared memory, each load waits: B/cycle/SM
// Times of the whole chip are differences of two amounts of work: what a launch takes by itself does not count.
#include <cooperative_groups.h>

#include "measure.h"

// One load of a lane: kBits / 32 words. Loads of a batch are all issued before the first result is used, the order that
// ptxas gives them, too.
#define LOAD_32(text, kind) asm volatile(text ".u32 %0, [%1];" : "=r"(v[0]) : kind(address) : "memory")
#define LOAD_64(text, kind) \
  asm volatile(text ".v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : kind(address) : "memory")
#define LOAD_128(text, kind)                                    \
  asm volatile(text ".v4.u32 {%0, %1, %2, %3}, [%4];"           \
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) \
               : kind(address)                                  \
               : "memory")
#define LOAD(text, kind)          \
  if constexpr (kBits == 32)      \
    LOAD_32(text, kind);          \
  else if constexpr (kBits == 64) \
    LOAD_64(text, kind);          \
  else                            \
    LOAD_128(text, kind)

template <int kBits>
struct Lane {
  unsigned v[kBits / 32];

  __device__ void load_shared(unsigned address) { LOAD("ld.shared", "r"); }
  __device__ void load_past_l1(uint64_t address) { LOAD("ld.global.cg", "l"); }
  __device__ void load(uint64_t address) { LOAD("ld.global", "l"); }
  __device__ unsigned sum() const {
    unsigned all = v[0];
#pragma unroll
    for (int k = 1; k < kBits / 32; ++k) all ^= v[k];
    return all;
  }
};

constexpr int kThreads = 1024, kInFlight = 4;

template <int kBits>
__global__ void __launch_bounds__(kThreads) read_shared(int rounds, Span* spans, unsigned* sink) {
  constexpr int kBytes = kBits / 8, kUnrolled = 16;
  __shared__ alignas(16) unsigned words[kThreads * 4];
  for (int k = 0; k < 4; ++k) words[k * kThreads + static_cast<int>(threadIdx.x)] = threadIdx.x;
  const unsigned address = shared_address(words) + threadIdx.x * kBytes;
  unsigned sum = 0;
  __syncthreads();
  const long long begin = now();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int batch = 0; batch < kUnrolled / kInFlight; ++batch) {
      Lane<kBits> lanes[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) lanes[k].load_shared(address);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) sum ^= lanes[k].sum();
    }
  }
  sink[threadIdx.x] = sum;
  const long long end = now();
  if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {begin, end};
}

template <int kBits>
double shared_bandwidth() {
  constexpr int kRounds = 8;
  auto* const sink = device_memory<unsigned>(kThreads);
  const auto launch = [&](Span* spans) { read_shared<kBits><<<1, kThreads>>>(kRounds, spans, sink); };
  return kRounds * 16.0 * kThreads * kBits / 8 / whole_span(spans_of(kThreads / 32, launch));
}

// Each pass reads the whole array; a block's part is another one in each.
template <int kBits>
__global__ void __launch_bounds__(kThreads) read_l2(const char* memory, int steps, int passes, unsigned* sink) {
  constexpr int kBytes = kBits / 8;
  const size_t row = size_t{gridDim.x} * kThreads * kBytes;
  unsigned sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    unsigned block = blockIdx.x + static_cast<unsigned>(pass);
    if (block >= gridDim.x) block -= gridDim.x;
    uint64_t at = reinterpret_cast<uint64_t>(memory) + (size_t{block} * kThreads + threadIdx.x) * kBytes;
#pragma unroll 1
    for (int step = 0; step < steps; ++step, at += kInFlight * row) {
      Lane<kBits> lanes[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) lanes[k].load_past_l1(at + k * row);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) sum ^= lanes[k].sum();
    }
  }
  sink[blockIdx.x * kThreads + threadIdx.x] = sum;
}

template <int kBits>
double l2_bandwidth(int mebibytes) {
  const int blocks = 2 * sm_count();
  const size_t step = size_t{kInFlight} * static_cast<size_t>(blocks) * kThreads * kBits / 8;
  const int steps = std::max(1, static_cast<int>((static_cast<size_t>(mebibytes) << 20) / step));
  const size_t bytes = step * static_cast<size_t>(steps);
  char* const memory = zeroed_memory<char>(bytes);
  auto* const sink = device_memory<unsigned>(static_cast<size_t>(blocks) * kThreads);
  const auto time = [&](int passes) {
    return elapsed([&] { read_l2<kBits><<<static_cast<unsigned>(blocks), kThreads>>>(memory, steps, passes, sink); });
  };
  time(1);
  const double few = time(1), many = time(3);
  return 2.0 * static_cast<double>(bytes) / cycles_of_microseconds(many - few) / sm_count();
}

template <int kBits, int kCount>
__global__ void __launch_bounds__(kThreads) read_memory(const char* memory, int steps, unsigned* sink) {
  constexpr int kBytes = kBits / 8;
  const size_t row = size_t{gridDim.x} * kThreads * kBytes;
  uint64_t at = reinterpret_cast<uint64_t>(memory) + (size_t{blockIdx.x} * kThreads + threadIdx.x) * kBytes;
  unsigned sum = 0;
#pragma unroll 1
  for (int step = 0; step < steps; ++step, at += kCount * row) {
    Lane<kBits> lanes[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) lanes[k].load(at + k * row);
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum ^= lanes[k].sum();
  }
  sink[blockIdx.x * kThreads + threadIdx.x] = sum;
}

template <int kBits, int kCount>
double dram_bandwidth() {
  const int blocks = 2 * sm_count();
  const size_t step = size_t{kCount} * static_cast<size_t>(blocks) * kThreads * kBits / 8;
  const int few = std::max(2, static_cast<int>((size_t{8} << 20) / step)), many = 3 * few;
  auto* const sink = device_memory<unsigned>(static_cast<size_t>(blocks) * kThreads);
  // Memory that nothing has touched.
  const auto time = [&](int steps) {
    const char* const memory = device_memory<char>(step * static_cast<size_t>(steps));
    return elapsed(
        [&] { read_memory<kBits, kCount><<<static_cast<unsigned>(blocks), kThreads>>>(memory, steps, sink); });
  };
  time(1);
  const double first = time(few), second = time(many);
  return static_cast<double>(step) * (many - few) / (second - first) / 1e3;
}

__global__ void __launch_bounds__(kThreads) copy(const int4* from, int4* to, int steps) {
  const size_t row = size_t{gridDim.x} * kThreads;
  size_t at = size_t{blockIdx.x} * kThreads + threadIdx.x;
#pragma unroll 1
  for (int step = 0; step < steps; ++step, at += kInFlight * row) {
    int4 values[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) values[k] = from[at + k * row];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) to[at + k * row] = values[k];
  }
}

// L2 writes back what it has to give up: the first copy is larger than it, so that every line of the next ones takes
// the place of another.
double copy_bandwidth() {
  const int blocks = 2 * sm_count();
  const size_t step = size_t{kInFlight} * static_cast<size_t>(blocks) * kThreads;
  const auto l2 = static_cast<size_t>(attribute(cudaDevAttrL2CacheSize));
  const auto time = [&](int steps) {
    const auto* const from = device_memory<int4>(step * static_cast<size_t>(steps));
    auto* const to = device_memory<int4>(step * static_cast<size_t>(steps));
    return elapsed([&] { copy<<<static_cast<unsigned>(blocks), kThreads>>>(from, to, steps); });
  };
  time(static_cast<int>(l2 / (step * sizeof(int4))) + 1);
  constexpr int kFew = 1, kMany = 3;
  const double few = time(kFew), many = time(kMany);
  return 2.0 * static_cast<double>(step * sizeof(int4)) * (kMany - kFew) / (many - few) / 1e3;
}

double memcpy_bandwidth() {
  constexpr size_t kFew = size_t{128} << 20, kMany = size_t{256} << 20;
  char* const from = device_memory<char>(kMany);
  char* const to = device_memory<char>(kMany);
  const auto time = [&](size_t bytes) {
    return elapsed([&] { CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice)); });
  };
  const double few = time(kFew), many = time(kMany);
  return 2.0 * static_cast<double>(kMany - kFew) / (many - few) / 1e3;
}

__global__ void load_once(const double* memory, double* sink) {
  const double value = memory[size_t{blockIdx.x} * blockDim.x + threadIdx.x];
  if (value == 123.0) *sink = value;
}

double bandwidth_of_blocks(int threads) {
  constexpr size_t kShared = 100 * 1024;  // two blocks fit
  CHECK(cudaFuncSetAttribute(load_once, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  auto* const sink = device_memory<double>(1);
  const auto time = [&](int waves) {
    const int blocks = 2 * sm_count() * waves;
    const auto* const memory = device_memory<double>(static_cast<size_t>(blocks) * static_cast<size_t>(threads));
    return elapsed(
        [&] { load_once<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), kShared>>>(memory, sink); });
  };
  constexpr int kFew = 8, kMany = 24;
  const double few = time(kFew), many = time(kMany);
  return 8.0 * threads * 2 * sm_count() * (kMany - kFew) / (many - few) / 1e3;
}

__global__ void __launch_bounds__(kThreads) read_next_block(int rounds, unsigned* sink) {
  namespace cg = cooperative_groups;
  __shared__ unsigned words[4 * kThreads];
  for (unsigned k = threadIdx.x; k < 4 * kThreads; k += kThreads) words[k] = (k + kThreads) % (4 * kThreads);
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  const unsigned* const there = cluster.map_shared_rank(words, (cluster.block_rank() + 1) % cluster.num_blocks());
  unsigned at = threadIdx.x;
#pragma unroll 8
  for (int round = 0; round < rounds; ++round) at = there[at];
  sink[blockIdx.x * kThreads + threadIdx.x] = at;
  cluster.sync();
}

double dsmem_bandwidth(int cluster) {
  const int blocks = 2 * sm_count() / cluster * cluster;
  auto* const sink = device_memory<unsigned>(static_cast<size_t>(blocks) * kThreads);
  const auto time = [&](int rounds) {
    return elapsed([&] { launch_clusters(read_next_block, blocks, kThreads, 0, cluster, rounds, sink); });
  };
  constexpr int kFew = 8, kMany = 24;
  time(1);
  const double few = time(kFew), many = time(kMany);
  return 4.0 * kThreads * blocks * (kMany - kFew) / cycles_of_microseconds(many - few) / sm_count();
}

int main(int count, char** values) {
  Arguments arguments(count, values,
                      "bandwidth shared BITS|l2 BITS MIB|dram BITS COUNT|copy|memcpy|blocks THREADS|dsmem N");
  const std::string what = arguments.text();
  if (what == "shared") {
    const int bits = arguments.number();
    if (bits != 32 && bits != 128) arguments.refuse(std::to_string(bits));
    report(bits == 32 ? shared_bandwidth<32>() : shared_bandwidth<128>(), "B/cycle/SM");
  } else if (what == "l2") {
    const int bits = arguments.number(), mebibytes = arguments.number();
    if (bits != 32 && bits != 64 && bits != 128) arguments.refuse(std::to_string(bits));
    report(bits == 32   ? l2_bandwidth<32>(mebibytes)
           : bits == 64 ? l2_bandwidth<64>(mebibytes)
                        : l2_bandwidth<128>(mebibytes),
           "B/cycle/SM");
  } else if (what == "dram") {
    const int bits = arguments.number(), in_flight = arguments.number();
    if (bits == 32 && in_flight == 1)
      report(dram_bandwidth<32, 1>(), "GB/s");
    else if (bits == 64 && in_flight == 1)
      report(dram_bandwidth<64, 1>(), "GB/s");
    else if (bits == 128 && in_flight == 4)
      report(dram_bandwidth<128, 4>(), "GB/s");
    else
      arguments.refuse(std::to_string(bits) + " " + std::to_string(in_flight));
  } else if (what == "copy") {
    report(copy_bandwidth(), "GB/s");
  } else if (what == "memcpy") {
    report(memcpy_bandwidth(), "GB/s");
  } else if (what == "blocks") {
    report(bandwidth_of_blocks(arguments.number()), "GB/s");
  } else if (what == "dsmem") {
    report(dsmem_bandwidth(arguments.number()), "B/cycle/SM");
  } else {
    arguments.refuse(what);
  }
}
