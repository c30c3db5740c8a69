// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps, kIterations = 3;

// Sums over this rank's images: a block for 32 prototypes. The first time, the exponentials are made.
__global__ void add_rows(const float* logits, float* q, const float* v, float* sums, int64_t images, int64_t prototypes,
                         bool first) {
  __shared__ float of_warp[kWarps][kWarp];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t k = int64_t{blockIdx.x} * kWarp + lane;
  float sum = 0;
  if (k < prototypes) {
#pragma unroll 4
    for (int64_t b = warp; b < images; b += kWarps) {
      if (first) {
        const float p = __expf(20 * logits[b * prototypes + k]);
        q[b * prototypes + k] = p;
        sum += p;
      } else {
        sum += q[b * prototypes + k] * v[b];
      }
    }
  }
  of_warp[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || k >= prototypes) return;
  for (int w = 1; w < kWarps; ++w) sum += of_warp[w][lane];
  sums[k] = sum;
}

// Sums over prototypes: a block for each image. The last time, results are stored.
__global__ void add_columns(const float* sums, float* q, float* v, int64_t prototypes, bool last) {
  __shared__ float of_warp[kWarps];
  float* row = q + blockIdx.x * prototypes;
  float sum = 0;
#pragma unroll 4
  for (int64_t k = threadIdx.x; k < prototypes; k += kThreads) sum += __fdividef(row[k], sums[k]);
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = sum;
  __syncthreads();
  sum = 0;
  for (const float part : of_warp) sum += part;
  const float factor = 1 / sum;
  if (threadIdx.x == 0) v[blockIdx.x] = factor;
  if (!last) return;
#pragma unroll 4
  for (int64_t k = threadIdx.x; k < prototypes; k += kThreads) row[k] = __fdividef(row[k], sums[k]) * factor;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(args.prototypes) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&v_, static_cast<size_t>(args.images) * sizeof(float)));
  }
  ~Solution() {
    cudaFree(sums_);
    cudaFree(v_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto tiles = static_cast<unsigned>((args.prototypes + kWarp - 1) / kWarp);
    for (int n = 0; n < kIterations; ++n) {
      add_rows<<<tiles, kThreads, 0, stream>>>(args.logits, args.q, v_, sums_, args.images, args.prototypes, n == 0);
      fabricbench::check_nccl(
          ncclAllReduce(sums_, sums_, static_cast<size_t>(args.prototypes), ncclFloat, ncclSum, comm_, stream));
      add_columns<<<static_cast<unsigned>(args.images), kThreads, 0, stream>>>(sums_, args.q, v_, args.prototypes,
                                                                               n == kIterations - 1);
    }
  }

 private:
  fabricbench::NcclCommunicator comm_;
  float *sums_ = nullptr, *v_ = nullptr;
};
// [/solution]
