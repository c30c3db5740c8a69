#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;
constexpr int kColumns = 32, kRows = 8;  // of a block that adds up columns

__global__ void activate(float* h, const float* b1, int64_t hidden, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) h[i] = fmaxf(h[i] + b1[i % hidden], 0);
}

__global__ void errors_of(float* y, const float* b2, const float* target, float share, int64_t outputs, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) y[i] = (y[i] + b2[i % outputs] - target[i]) * share;
}

// Sums of the columns of `d`, where `h` is positive, and of `e`. What is not added is set to 0.
__global__ void add_columns(float* d, const float* h, const float* e, float* g_b1, float* g_b2, int64_t batch,
                            int64_t hidden, int64_t outputs) {
  __shared__ float parts[kRows][kColumns];
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  float sum = 0;
  if (column < hidden) {
    for (int64_t t = threadIdx.y; t < batch; t += kRows) {
      if (h[t * hidden + column] > 0) {
        sum += d[t * hidden + column];
      } else {
        d[t * hidden + column] = 0;
      }
    }
  } else if (column < hidden + outputs) {
    for (int64_t t = threadIdx.y; t < batch; t += kRows) sum += e[t * outputs + column - hidden];
  }
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= hidden + outputs) return;
  for (int row = 1; row < kRows; ++row) sum += parts[row][threadIdx.x];
  (column < hidden ? g_b1[column] : g_b2[column - hidden]) = sum;
}

// `grad` has sums over ranks.
__global__ void update(Args args, const float* grad, float share, int64_t count) {
  __shared__ float rate, correction;
  if (threadIdx.x == 0) {
    const auto t = static_cast<float>(*args.step);
    rate = *args.lr / (1 - powf(0.9F, t));
    correction = 1 / (1 - powf(0.95F, t));
  }
  __syncthreads();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const float g = grad[i] * share;
  const float m = 0.9F * args.m[i] + 0.1F * g, v = 0.95F * args.v[i] + 0.05F * g * g;
  args.params_out[i] = args.params[i] - rate * m / (sqrtf(v * correction) + 1e-8F);
  args.m_out[i] = m;
  args.v_out[i] = v;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : world_(rank.world()),
        count_(args.hidden * (args.features + 1) + args.outputs * (args.hidden + 1)),
        comm_(rank) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    fabricbench::check_cuda(cudaMalloc(&h_, static_cast<size_t>(args.batch * args.hidden) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&d_, static_cast<size_t>(args.batch * args.hidden) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&e_, static_cast<size_t>(args.batch * args.outputs) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&grad_, static_cast<size_t>(count_) * sizeof(float)));
  }
  ~Solution() {
    cudaFree(h_);
    cudaFree(d_);
    cudaFree(e_);
    cudaFree(grad_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    gradients(args, grad_, stream);
    fabricbench::check_nccl(
        ncclAllReduce(grad_, grad_, static_cast<size_t>(count_), ncclFloat, ncclSum, comm_, stream));
    update<<<static_cast<unsigned>((count_ + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        args, grad_, 1 / static_cast<float>(world_), count_);
  }

 private:
  // This rank's gradients, laid out like the parameters.
  void gradients(const Args& args, float* grad, cudaStream_t stream) {
    const auto blocks = [](int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); };
    const auto batch = static_cast<int>(args.batch), features = static_cast<int>(args.features);
    const auto hidden = static_cast<int>(args.hidden), outputs = static_cast<int>(args.outputs);
    const int64_t b1 = args.hidden * args.features, w2 = b1 + args.hidden, b2 = w2 + args.outputs * args.hidden;
    const float *p = args.params, one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    // cuBLAS has columns where these matrices have rows: each product is that of the transposed factors, exchanged.
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, batch, features, &one, p, features,
                                          args.x, features, &zero, h_, hidden));
    activate<<<blocks(args.batch * args.hidden), kThreads, 0, stream>>>(h_, p + b1, args.hidden,
                                                                        args.batch * args.hidden);
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, outputs, batch, hidden, &one, p + w2,
                                          hidden, h_, hidden, &zero, e_, outputs));
    errors_of<<<blocks(args.batch * args.outputs), kThreads, 0, stream>>>(
        e_, p + b2, args.target, 1 / static_cast<float>(batch), args.outputs, args.batch * args.outputs);
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_T, hidden, outputs, batch, &one, h_, hidden,
                                          e_, outputs, &zero, grad + w2, hidden));
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, hidden, batch, outputs, &one, p + w2,
                                          hidden, e_, outputs, &zero, d_, hidden));
    const auto strips = static_cast<unsigned>((args.hidden + args.outputs + kColumns - 1) / kColumns);
    add_columns<<<strips, dim3(kColumns, kRows), 0, stream>>>(d_, h_, e_, grad + b1, grad + b2, args.batch, args.hidden,
                                                              args.outputs);
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_T, features, hidden, batch, &one, args.x,
                                          features, d_, hidden, &zero, grad, features));
  }

  int world_;
  int64_t count_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t cublas_ = nullptr;
  float *h_ = nullptr, *d_ = nullptr, *e_ = nullptr, *grad_ = nullptr;
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
