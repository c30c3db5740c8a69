// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

// The weights of `local` experts from `first` on for each token: 0 if k experts or more come before one.
__global__ void weigh(const float* logits, float* weights, int tokens, int experts, int k, int first, int local) {
  const auto token = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (token >= tokens) return;
  const float* row = logits + token * experts;
  const auto chosen = [=](int expert) {
    int before = 0;
    for (int e = 0; e < experts; ++e) before += row[e] > row[expert] || (row[e] == row[expert] && e < expert);
    return before < k;
  };
  float most = row[0], sum = 0;
  for (int e = 1; e < experts; ++e) most = fmaxf(most, row[e]);
  for (int e = 0; e < experts; ++e) sum += chosen(e) ? __expf(row[e] - most) : 0;
  for (int l = 0; l < local; ++l)
    weights[token * local + l] = chosen(first + l) ? __expf(row[first + l] - most) / sum : 0;
}

// How many of the group's tokens have chosen each expert of this rank.
__global__ void count(const float* weights, int32_t* counts, int tokens, int local) {
  int32_t chosen = 0;
  for (int t = 0; t < tokens; ++t) chosen += weights[t * local + threadIdx.x] > 0;
  counts[threadIdx.x] = chosen;
}

__global__ void gate(const float* u, const float* v, __nv_bfloat16* h, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) h[i] = __float2bfloat16(u[i] / (1 + __expf(-u[i])) * v[i]);
}

// Adds an expert's rows to the sum, or begins it.
__global__ void accumulate(float* sum, const float* y, const float* weights, int64_t hidden, int64_t count, int local,
                           int expert) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = (expert == 0 ? 0 : sum[i]) + y[i] * weights[i / hidden * local + expert];
}

__global__ void round(const float* sum, __nv_bfloat16* out, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = __float2bfloat16(sum[i]);
}

// No dispatch: every expert computes for all tokens of its group, with weights of 0 for those that have not chosen it,
// and a reduce-scatter adds up. More products, but sizes are known, and the host waits for nothing.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : member_(rank.rank() % static_cast<int>(args.ep)), ep_(static_cast<int>(args.ep)), comm_(rank) {
    fabricbench::check_nccl(ncclCommSplit(comm_, rank.rank() / ep_, member_, &group_, nullptr));
    fabricbench::check_nccl(ncclCommSplit(comm_, member_, rank.rank() / ep_, &across_, nullptr));
    fabricbench::check_cuda(cudaMalloc(&counts_, static_cast<size_t>(args.local) * sizeof(int32_t)));
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto rows = static_cast<size_t>(ep_ * args.tokens), hidden = static_cast<size_t>(args.hidden);
    const auto ffn = static_cast<size_t>(args.ffn);
    fabricbench::check_cuda(cudaMalloc(&x_, rows * hidden * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&logits_, rows * static_cast<size_t>(ep_ * args.local) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, rows * static_cast<size_t>(args.local) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&u_, rows * ffn * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&v_, rows * ffn * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&h_, rows * ffn * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&y_, rows * hidden * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&sum_, rows * hidden * sizeof(float)));
  }
  ~Solution() {
    cudaFree(x_);
    cudaFree(logits_);
    cudaFree(weights_);
    cudaFree(u_);
    cudaFree(v_);
    cudaFree(h_);
    cudaFree(y_);
    cudaFree(sum_);
    cudaFree(counts_);
    cublasDestroy(cublas_);
    ncclCommDestroy(group_);
    ncclCommDestroy(across_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<int>(ep_ * args.tokens), hidden = static_cast<int>(args.hidden);
    const auto ffn = static_cast<int>(args.ffn);
    const auto blocks = [](int64_t count) { return static_cast<unsigned>((count + 255) / 256); };
    const int64_t neurons = int64_t{rows} * ffn, numbers = int64_t{rows} * hidden;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    fabricbench::check_nccl(
        ncclAllGather(args.x, x_, static_cast<size_t>(args.tokens * hidden), ncclBfloat16, group_, stream));
    const auto local = static_cast<int>(args.local);
    multiply(args.router, x_, logits_, ep_ * local, rows, hidden);
    weigh<<<blocks(rows), 256, 0, stream>>>(logits_, weights_, rows, ep_ * local, static_cast<int>(args.k),
                                            member_ * local, local);
    count<<<1, local, 0, stream>>>(weights_, counts_, rows, local);
    fabricbench::check_nccl(
        ncclAllReduce(counts_, counts_, static_cast<size_t>(local), ncclInt32, ncclSum, across_, stream));
    fabricbench::check_nccl(ncclAllGather(counts_, args.load, static_cast<size_t>(local), ncclInt32, group_, stream));
    for (int e = 0; e < local; ++e) {
      const int64_t weight = int64_t{e} * ffn * hidden;
      multiply(args.w_gate + weight, x_, u_, ffn, rows, hidden);
      multiply(args.w_up + weight, x_, v_, ffn, rows, hidden);
      gate<<<blocks(neurons), 256, 0, stream>>>(u_, v_, h_, neurons);
      multiply(args.w_down + weight, h_, y_, hidden, rows, ffn);
      accumulate<<<blocks(numbers), 256, 0, stream>>>(sum_, y_, weights_, hidden, numbers, local, e);
    }
    const int64_t own = args.tokens * hidden;
    fabricbench::check_nccl(
        ncclReduceScatter(sum_, sum_ + member_ * own, static_cast<size_t>(own), ncclFloat, ncclSum, group_, stream));
    round<<<blocks(own), 256, 0, stream>>>(sum_ + member_ * own, args.out, own);
  }

 private:
  // c[rows][columns] = a[rows][depth] times the transpose of b[columns][depth].
  void multiply(const __nv_bfloat16* b, const __nv_bfloat16* a, float* c, int columns, int rows, int depth) {
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, columns, rows, depth, &one, b,
                                           CUDA_R_16BF, depth, a, CUDA_R_16BF, depth, &zero, c, CUDA_R_32F, columns,
                                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  int member_, ep_;
  fabricbench::NcclCommunicator comm_;
  ncclComm_t group_ = nullptr, across_ = nullptr;  // this rank's group, and the ranks at its place of all groups
  int32_t* counts_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  __nv_bfloat16 *x_ = nullptr, *h_ = nullptr;
  float *logits_ = nullptr, *weights_ = nullptr, *u_ = nullptr, *v_ = nullptr, *y_ = nullptr;
  float* sum_ = nullptr;
};
// [/solution]
