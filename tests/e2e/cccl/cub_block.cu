// Collectives of blocks and warps, as attention and norm kernels use them.
#include <cub/cub.cuh>

#include "checks.h"

constexpr int kThreads = 128;

__global__ void reduce(const int* in, int* out) {
  using BlockReduce = cub::BlockReduce<int, kThreads>;
  __shared__ typename BlockReduce::TempStorage storage;
  const int sum = BlockReduce(storage).Sum(in[threadIdx.x]);
  __syncthreads();
  const int most = BlockReduce(storage).Reduce(in[threadIdx.x], cub::Max());
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = most;
  }
}

struct MaxAndSum {
  float most, sum;
};
struct Merge {
  __device__ MaxAndSum operator()(const MaxAndSum& a, const MaxAndSum& b) const {
    const bool first = a.most > b.most;
    const MaxAndSum &large = first ? a : b, &small = first ? b : a;
    return {large.most, large.sum + small.sum * expf(small.most - large.most)};
  }
};
__global__ void softmax_denominator(const float* in, float* out) {
  using BlockReduce = cub::BlockReduce<MaxAndSum, kThreads>;
  __shared__ typename BlockReduce::TempStorage storage;
  const MaxAndSum all = BlockReduce(storage).Reduce(MaxAndSum{in[threadIdx.x], 1.0f}, Merge());
  if (threadIdx.x == 0) *out = all.sum;
}

template <cub::BlockScanAlgorithm kAlgorithm>
__global__ void scan(const int* in, int* out) {
  using BlockScan = cub::BlockScan<int, kThreads, kAlgorithm>;
  __shared__ typename BlockScan::TempStorage storage;
  int items[4];
  for (int i = 0; i < 4; ++i) items[i] = in[threadIdx.x];
  int total = 0;
  BlockScan(storage).ExclusiveSum(items, items, total);
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = items[i];
  if (threadIdx.x == 0) out[kThreads * 4] = total;
}

__global__ void sort(const int* in, int* out) {
  using BlockLoad = cub::BlockLoad<int, kThreads, 2, cub::BLOCK_LOAD_TRANSPOSE>;
  using BlockSort = cub::BlockRadixSort<int, kThreads, 2>;
  using BlockStore = cub::BlockStore<int, kThreads, 2, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename BlockLoad::TempStorage load;
    typename BlockSort::TempStorage sort;
    typename BlockStore::TempStorage store;
  } storage;
  int keys[2];
  BlockLoad(storage.load).Load(in, keys);
  __syncthreads();
  BlockSort(storage.sort).Sort(keys);
  __syncthreads();
  BlockStore(storage.store).Store(out, keys);
}

__global__ void warps(const int* in, int* out) {
  using WarpReduce = cub::WarpReduce<int>;
  using WarpScan = cub::WarpScan<int, 16>;
  __shared__ typename WarpReduce::TempStorage reduces[kThreads / 32];
  __shared__ typename WarpScan::TempStorage scans[kThreads / 16];
  const int sum = WarpReduce(reduces[threadIdx.x / 32]).Sum(in[threadIdx.x]);
  int prefix = 0;
  WarpScan(scans[threadIdx.x / 16]).InclusiveSum(in[threadIdx.x], prefix);
  if (threadIdx.x % 32 == 0) out[kThreads + threadIdx.x / 32] = sum;
  out[threadIdx.x] = prefix;
}

__global__ void histogram(const unsigned char* in, unsigned* out) {
  using BlockHistogram = cub::BlockHistogram<unsigned char, kThreads, 1, 16, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ typename BlockHistogram::TempStorage storage;
  __shared__ unsigned bins[16];
  unsigned char item[1] = {in[threadIdx.x]};
  BlockHistogram(storage).Histogram(item, bins);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

int main() {
  int *in = shared_array(256), *out = shared_array(600);
  for (int i = 0; i < 256; ++i) in[i] = (i * 37) % 101;
  int sum = 0, most = 0;
  for (int i = 0; i < kThreads; ++i) {
    sum += in[i];
    most = in[i] > most ? in[i] : most;
  }
  reduce<<<1, kThreads>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(out[0], sum);
  CHECK_EQ(out[1], most);

  float *values = shared_array<float>(kThreads), *result = shared_array<float>(1);
  double wanted = 0;
  for (int i = 0; i < kThreads; ++i) values[i] = static_cast<float>(i % 7);
  for (int i = 0; i < kThreads; ++i) wanted += exp(values[i] - 6.0);
  softmax_denominator<<<1, kThreads>>>(values, result);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(fabs(*result - wanted) < 1e-3, true);

  const auto check_scan = [&] {
    CHECK(cudaDeviceSynchronize());
    int running = 0;
    for (int i = 0; i < kThreads * 4; ++i) {
      CHECK_EQ(out[i], running);
      running += in[i / 4];
    }
    CHECK_EQ(out[kThreads * 4], running);
  };
  scan<cub::BLOCK_SCAN_RAKING><<<1, kThreads>>>(in, out);
  check_scan();
  scan<cub::BLOCK_SCAN_WARP_SCANS><<<1, kThreads>>>(in, out);
  check_scan();

  sort<<<1, kThreads>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  int sorted_sum = out[0], all = in[0];
  for (int i = 1; i < 256; ++i) {
    CHECK_EQ(out[i - 1] <= out[i], true);
    sorted_sum += out[i];
    all += in[i];
  }
  CHECK_EQ(sorted_sum, all);

  warps<<<1, kThreads>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0, prefix = 0, of_warp = 0; i < kThreads; ++i) {
    prefix = i % 16 == 0 ? in[i] : prefix + in[i];
    of_warp = i % 32 == 0 ? in[i] : of_warp + in[i];
    CHECK_EQ(out[i], prefix);
    if (i % 32 == 31) CHECK_EQ(out[kThreads + i / 32], of_warp);
  }

  unsigned char* bytes = shared_array<unsigned char>(kThreads);
  unsigned* bins = shared_array<unsigned>(16);
  for (int i = 0; i < kThreads; ++i) bytes[i] = static_cast<unsigned char>(i * i % 16);
  histogram<<<1, kThreads>>>(bytes, bins);
  CHECK(cudaDeviceSynchronize());
  for (int b = 0; b < 16; ++b) {
    unsigned count = 0;
    for (int i = 0; i < kThreads; ++i) count += bytes[i] == b;
    CHECK_EQ(bins[b], count);
  }
  return finish();
}
