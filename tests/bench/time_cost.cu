// Work for tools/time_cost.py: one kind of kernel, repeated. The results are checked, so that a run without the
// model of time is known to have done the same.
// Usage: time_cost KIND REPETITIONS
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../examples/common/check.h"
#include "../../examples/common/flags.h"

constexpr int kThreads = 256;
constexpr int kBlocks = 132;

__global__ void fill(float* to, int n, float value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = value;
}

__global__ void copy(float4* to, const float4* from, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    __stcg(to + i, __ldcg(from + i));
  }
}

// Every lane somewhere else: sectors must be counted one by one.
__global__ void gather(float* to, const float* from, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    to[i] = from[static_cast<unsigned int>(i) * 40503u % static_cast<unsigned int>(n)];
  }
}

__global__ void count(unsigned int* counters, int counts, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&counters[i % counts], 1u);
  }
}

// A sum for each block: a tree in shared memory, then in a warp.
__global__ void reduce(float* sums, const float* from, int n) {
  __shared__ float part[kThreads];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += from[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned int half = kThreads / 2; half >= 32; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x >= 32) return;
  sum = part[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// c = a * b, n x n, by tiles in shared memory.
constexpr int kTile = 16;
__global__ void gemm(float* c, const float* a, const float* b, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

constexpr int kGpus = 8;
constexpr int kFewBlocks = 8;
template <class T>
struct OnAll {
  T* of[kGpus];
};

__device__ void block_barrier(const OnAll<unsigned int>& flags, int gpu, unsigned int epoch) {
  __syncthreads();
  if (threadIdx.x < kGpus) {
    post_flag(&flags.of[threadIdx.x][blockIdx.x * kGpus + gpu], epoch);
    wait_flag(&flags.of[gpu][blockIdx.x * kGpus + threadIdx.x], epoch);
  }
  __syncthreads();
}

// One-shot, pulled.
__global__ void all_reduce(OnAll<unsigned int> flags, OnAll<float4> inputs, float4* output, int n, int gpu,
                           unsigned int epoch) {
  block_barrier(flags, gpu, 2 * epoch - 1);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 sum = {};
    for (const float4* input : inputs.of) {
      const float4 value = __ldcg(input + i);
      sum = {sum.x + value.x, sum.y + value.y, sum.z + value.z, sum.w + value.w};
    }
    __stcg(output + i, sum);
  }
  block_barrier(flags, gpu, 2 * epoch);
}

template <class T>
T* allocate(size_t count) {
  T* array = nullptr;
  CHECK(cudaMalloc(&array, count * sizeof(T)));
  CHECK(cudaMemset(array, 0, count * sizeof(T)));
  CHECK(cudaDeviceSynchronize());
  return array;
}

template <class T>
void expect(const T* array, size_t count, T value) {
  std::vector<T> host(count);
  CHECK(cudaMemcpy(host.data(), array, count * sizeof(T), cudaMemcpyDefault));
  for (size_t i = 0; i < count; ++i) {
    if (host[i] != value) {
      fail("element %zu is %g, expected %g", i, static_cast<double>(host[i]), static_cast<double>(value));
    }
  }
}

void run_copy(int repetitions) {
  constexpr int kFloats = 1 << 20;
  auto *from = allocate<float>(kFloats), *to = allocate<float>(kFloats);
  fill<<<kBlocks, kThreads>>>(from, kFloats, 3);
  for (int r = 0; r < repetitions; ++r) {
    copy<<<kBlocks, kThreads>>>(reinterpret_cast<float4*>(to), reinterpret_cast<float4*>(from), kFloats / 4);
  }
  expect(to, kFloats, 3.0f);
}

void run_gather(int repetitions) {
  constexpr int kFloats = 1 << 17;
  auto *from = allocate<float>(kFloats), *to = allocate<float>(kFloats);
  fill<<<kBlocks, kThreads>>>(from, kFloats, 5);
  for (int r = 0; r < repetitions; ++r) gather<<<kBlocks, kThreads>>>(to, from, kFloats);
  expect(to, kFloats, 5.0f);
}

void run_atomics(int repetitions) {
  constexpr int kCounters = 4096, kCounted = 1 << 18;
  auto* counters = allocate<unsigned int>(kCounters);
  for (int r = 0; r < repetitions; ++r) count<<<kBlocks, kThreads>>>(counters, kCounters, kCounted);
  expect(counters, kCounters, static_cast<unsigned int>(repetitions * (kCounted / kCounters)));
}

void run_reduction(int repetitions) {
  constexpr int kFloats = 1 << 20, kSums = 128;
  auto *from = allocate<float>(kFloats), *sums = allocate<float>(kSums);
  fill<<<kBlocks, kThreads>>>(from, kFloats, 1);
  for (int r = 0; r < repetitions; ++r) reduce<<<kSums, kThreads>>>(sums, from, kFloats);
  expect(sums, kSums, static_cast<float>(kFloats / kSums));
}

void run_gemm(int repetitions) {
  constexpr int kSide = 192;
  auto *a = allocate<float>(kSide * kSide), *b = allocate<float>(kSide * kSide), *c = allocate<float>(kSide * kSide);
  fill<<<kBlocks, kThreads>>>(a, kSide * kSide, 2);
  fill<<<kBlocks, kThreads>>>(b, kSide * kSide, 1);
  const dim3 grid(kSide / kTile, kSide / kTile), block(kTile, kTile);
  for (int r = 0; r < repetitions; ++r) gemm<<<grid, block>>>(c, a, b, kSide);
  expect(c, kSide * kSide, 2.0f * kSide);
}

void run_all_reduce(int repetitions) {
  constexpr int kFloats = 1 << 16;
  OnAll<unsigned int> flags{};
  OnAll<float4> inputs{};
  OnAll<float> outputs{};
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    for (int peer = 0; peer < kGpus; ++peer) {
      if (peer != gpu) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    }
    flags.of[gpu] = allocate<unsigned int>(kFewBlocks * kGpus);
    auto* input = allocate<float>(kFloats);
    fill<<<kBlocks, kThreads>>>(input, kFloats, static_cast<float>(gpu));
    inputs.of[gpu] = reinterpret_cast<float4*>(input);
    outputs.of[gpu] = allocate<float>(kFloats);
  }
  for (int r = 1; r <= repetitions; ++r) {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      CHECK(cudaSetDevice(gpu));
      auto* output = reinterpret_cast<float4*>(outputs.of[gpu]);
      all_reduce<<<kFewBlocks, kThreads>>>(flags, inputs, output, kFloats / 4, gpu, static_cast<unsigned int>(r));
    }
  }
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    expect(outputs.of[gpu], kFloats, kGpus * (kGpus - 1) / 2.0f);
  }
}

int main(int argc, char** argv) {
  struct Kind {
    const char* name;
    void (*run)(int repetitions);
  };
  constexpr Kind kKinds[] = {{"copy", run_copy},           {"gather", run_gather}, {"atomics", run_atomics},
                             {"reduction", run_reduction}, {"gemm", run_gemm},     {"all_reduce", run_all_reduce}};
  const int repetitions = argc == 3 ? std::atoi(argv[2]) : 0;
  if (repetitions < 1) fail("Usage: time_cost KIND REPETITIONS");
  for (const Kind& kind : kKinds) {
    if (std::string(argv[1]) == kind.name) return kind.run(repetitions), 0;
  }
  fail("no such kind: %s", argv[1]);
}
