// The sum of an array in five steps. RATE is of bytes read, SHARE of 3.35 TB/s, the peak of an H100's memory. A step
// ends with the sums of its blocks, which are few compared with the array: the host adds them.
#include <numeric>
#include <string>
#include <vector>

#include "ladder.h"

constexpr double kPeak = 3350;  // GB/s
constexpr int kThreads = 256;

// Threads that are multiples of twice the distance work: half of each warp's lanes at first, then ever fewer.
__global__ void sum_interleaved(const int* from, size_t, int* to) {
  __shared__ int part[kThreads];
  const unsigned t = threadIdx.x;
  part[t] = from[size_t(blockIdx.x) * kThreads + t];
  __syncthreads();
  for (unsigned distance = 1; distance < kThreads; distance *= 2) {
    if (t % (2 * distance) == 0) part[t] += part[t + distance];
    __syncthreads();
  }
  if (t == 0) to[blockIdx.x] = part[0];
}

// The first threads work: whole warps, neighbours in neighbouring banks.
__global__ void sum_sequential(const int* from, size_t, int* to) {
  __shared__ int part[kThreads];
  const unsigned t = threadIdx.x;
  part[t] = from[size_t(blockIdx.x) * kThreads + t];
  __syncthreads();
  for (unsigned distance = kThreads / 2; distance > 0; distance /= 2) {
    if (t < distance) part[t] += part[t + distance];
    __syncthreads();
  }
  if (t == 0) to[blockIdx.x] = part[0];
}

// No thread idles in the first addition: it is made on the way into shared memory.
__global__ void sum_first_add(const int* from, size_t, int* to) {
  __shared__ int part[kThreads];
  const unsigned t = threadIdx.x;
  const size_t at = size_t(blockIdx.x) * 2 * kThreads + t;
  part[t] = from[at] + from[at + kThreads];
  __syncthreads();
  for (unsigned distance = kThreads / 2; distance > 0; distance /= 2) {
    if (t < distance) part[t] += part[t + distance];
    __syncthreads();
  }
  if (t == 0) to[blockIdx.x] = part[0];
}

// The sum of a block, at thread 0: by shuffles in each warp, then in the first.
__device__ int sum_of_block(int sum) {
  __shared__ int part[kThreads / 32];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  sum = threadIdx.x < kThreads / 32 ? part[threadIdx.x] : 0;
  for (int distance = kThreads / 64; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
  return sum;
}

// One barrier instead of eight.
__global__ void sum_shuffles(const int* from, size_t, int* to) {
  const size_t at = size_t(blockIdx.x) * 2 * kThreads + threadIdx.x;
  const int sum = sum_of_block(from[at] + from[at + kThreads]);
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

// As many blocks as run at once go over the array in steps, two loads of 16 bytes at a time.
__global__ void sum_vectorised(const int* from, size_t count, int* to) {
  const auto* quads = reinterpret_cast<const int4*>(from);
  const size_t step = size_t(gridDim.x) * kThreads;
  int sum = 0;
  for (size_t at = size_t(blockIdx.x) * kThreads + threadIdx.x; at < count / 4; at += 2 * step) {
    int4 quad[2] = {};
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (at + k * step < count / 4) quad[k] = quads[at + k * step];
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) sum += quad[k].x + quad[k].y + quad[k].z + quad[k].w;
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

struct Step {
  const char* name;
  void (*kernel)(const int* from, size_t count, int* to);
  int per_thread;  // 0: a block does what is left to do
};

const Step kSteps[] = {
    {"sum_interleaved", sum_interleaved, 1}, {"sum_sequential", sum_sequential, 1}, {"sum_first_add", sum_first_add, 2},
    {"sum_shuffles", sum_shuffles, 2},       {"sum_vectorised", sum_vectorised, 0},
};

unsigned blocks_of(const Step& step, size_t count) {
  if (step.per_thread != 0) return static_cast<unsigned>(count / step.per_thread / kThreads);
  int multiprocessors = 0;
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  return static_cast<unsigned>(multiprocessors) * (2048 / kThreads);
}

int main(int argc, char** argv) {
  const LadderOptions options = read_options(argc, argv);
  // From memory, after L2 was swept; or few.
  const size_t count = options.check ? 1 << 14 : size_t{20} << 20;
  std::vector<int> values(count);
  int wanted = 0;
  for (size_t k = 0; k < count; ++k) wanted += values[k] = small_integer(k);
  auto* from = device_memory<int>(count);
  auto* to = device_memory<int>(count / kThreads + 4096);
  CHECK(cudaMemcpy(from, values.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  bool found = false;
  for (const Step& step : kSteps) {
    if (!options.only.empty() && options.only != step.name) continue;
    found = true;
    const unsigned blocks = blocks_of(step, count);
    CHECK(cudaMemset(to, 0xff, blocks * sizeof *to));
    const double us = microseconds_of([&] { step.kernel<<<blocks, kThreads>>>(from, count, to); }, !options.check);
    std::vector<int> parts(blocks);
    CHECK(cudaMemcpy(parts.data(), to, blocks * sizeof *to, cudaMemcpyDeviceToHost));
    const int sum = std::accumulate(parts.begin(), parts.end(), 0);
    if (sum != wanted) fail("%s: the sum is %d instead of %d", step.name, sum, wanted);
    const double bytes = static_cast<double>(count) * sizeof(int);
    print_step(step.name, std::to_string(count).c_str(), us, 1e-3 * bytes / us, "GB/s", kPeak);
  }
  if (!found) fail("no step of this name");
}
