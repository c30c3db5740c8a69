#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 256, kWarps = kThreads / kWarp;

__device__ double sum_of_warp(double value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// gain = P h, a warp for each row.
__global__ void multiply(const double* p, const double* h, double* gain, int64_t n, int64_t rows) {
  const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (row >= rows) return;
  double sum = 0;
  for (int64_t j = threadIdx.x % kWarp; j < n; j += kWarp) sum += p[row * n + j] * h[row / n * n + j];
  sum = sum_of_warp(sum);
  if (threadIdx.x % kWarp == 0) gain[row] = sum;
}

// The sum over this rank's blocks of lambda + h P h, by one block of threads.
__global__ void add_up(const double* h, const double* gain, const double* lambda, int64_t blocks, int64_t rows,
                       double* out) {
  __shared__ double of_warp[kWarps];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < rows; i += kThreads) sum += h[i] * gain[i];
  sum = sum_of_warp(sum);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = static_cast<double>(blocks) * *lambda;
  for (const double part : of_warp) sum += part;
  *out = sum;
}

// A warp for each row.
__global__ void update(Args args, const double* gain, const double* sum, double* weights) {
  const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp, n = args.n, first = row / n * n;
  if (row >= args.blocks * n) return;
  const double scale = 1 / *sum, k = gain[row], factor = 1 / *args.lambda;
  for (int64_t j = threadIdx.x % kWarp; j < n; j += kWarp)
    args.p_out[row * n + j] = (args.p[row * n + j] - scale * k * gain[first + j]) * factor;
  if (threadIdx.x % kWarp == 0) weights[row] = args.w[row] + scale * *args.error * k;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&gain_, static_cast<size_t>(args.blocks * args.n) * sizeof(double)));
    fabricbench::check_cuda(cudaMalloc(&sum_, sizeof(double)));
  }
  ~Solution() {
    cudaFree(gain_);
    cudaFree(sum_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t rows = args.blocks * args.n;
    const auto grid = static_cast<unsigned>((rows + kWarps - 1) / kWarps);
    multiply<<<grid, kThreads, 0, stream>>>(args.p, args.h, gain_, args.n, rows);
    add_up<<<1, kThreads, 0, stream>>>(args.h, gain_, args.lambda, args.blocks, rows, sum_);
    fabricbench::check_nccl(ncclAllReduce(sum_, sum_, 1, ncclDouble, ncclSum, comm_, stream));
    double* mine = args.weights + rank_ * rows;
    update<<<grid, kThreads, 0, stream>>>(args, gain_, sum_, mine);
    fabricbench::check_nccl(ncclAllGather(mine, args.weights, static_cast<size_t>(rows), ncclDouble, comm_, stream));
  }

 private:
  int rank_;
  fabricbench::NcclCommunicator comm_;
  double *gain_ = nullptr, *sum_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the step
//|   }
//| };
// [/solution]
