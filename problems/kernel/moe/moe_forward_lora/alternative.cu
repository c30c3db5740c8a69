// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

// The weight of one expert for each token: its probability if fewer than two experts come before it, else 0.
__global__ void weigh(const float* logits, float* weights, int tokens, int experts, int expert) {
  const auto token = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (token >= tokens) return;
  const float* row = logits + token * experts;
  float sum = 0;
  int before = 0;
  for (int e = 0; e < experts; ++e) {
    sum += __expf(row[e] - row[expert]);
    before += row[e] > row[expert] || (row[e] == row[expert] && e < expert);
  }
  weights[token] = before < 2 ? 1 / sum : 0;
}

__global__ void gate(const float* u, const float* v, __nv_bfloat16* h, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) h[i] = __float2bfloat16(u[i] / (1 + __expf(-u[i])) * v[i]);
}

__global__ void scale(float* y, const float* weights, int64_t hidden, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] *= weights[i / hidden];
}

__global__ void to_bf16(const float* sum, __nv_bfloat16* out, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = __float2bfloat16(sum[i]);
}

// No dispatch: every expert computes for all tokens of all ranks, with weights of 0 for those that have not chosen it,
// and a reduce-scatter adds up. More products, but sizes are known, and the host waits for nothing.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto rows = static_cast<size_t>(world_ * args.tokens), hidden = static_cast<size_t>(args.hidden);
    const auto ffn = static_cast<size_t>(args.ffn);
    fabricbench::check_cuda(cudaMalloc(&x_, rows * hidden * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&logits_, rows * static_cast<size_t>(world_) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, rows * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&u_, rows * ffn * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&v_, rows * ffn * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&h_, rows * ffn * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&factor_, rows * static_cast<size_t>(args.lora) * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&y_, rows * hidden * sizeof(float)));
  }
  ~Solution() {
    cudaFree(x_);
    cudaFree(logits_);
    cudaFree(weights_);
    cudaFree(u_);
    cudaFree(v_);
    cudaFree(h_);
    cudaFree(y_);
    cudaFree(factor_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<int>(world_ * args.tokens), hidden = static_cast<int>(args.hidden);
    const auto ffn = static_cast<int>(args.ffn);
    const auto lora = static_cast<int>(args.lora);
    const auto blocks = [](int64_t count) { return static_cast<unsigned>((count + 255) / 256); };
    const int64_t neurons = int64_t{rows} * ffn, numbers = int64_t{rows} * hidden;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    fabricbench::check_nccl(
        ncclAllGather(args.x, x_, static_cast<size_t>(args.tokens * hidden), ncclBfloat16, comm_, stream));
    multiply(args.router, x_, logits_, CUDA_R_32F, world_, rows, hidden);
    weigh<<<blocks(rows), 256, 0, stream>>>(logits_, weights_, rows, world_, rank_);
    multiply(args.w_gate, x_, u_, CUDA_R_32F, ffn, rows, hidden);
    adapt(args.a_gate, args.b_gate, x_, u_, ffn, rows, hidden, lora);
    multiply(args.w_up, x_, v_, CUDA_R_32F, ffn, rows, hidden);
    adapt(args.a_up, args.b_up, x_, v_, ffn, rows, hidden, lora);
    gate<<<blocks(neurons), 256, 0, stream>>>(u_, v_, h_, neurons);
    multiply(args.w_down, h_, y_, CUDA_R_32F, hidden, rows, ffn);
    adapt(args.a_down, args.b_down, h_, y_, hidden, rows, ffn, lora);
    scale<<<blocks(numbers), 256, 0, stream>>>(y_, weights_, hidden, numbers);
    const int64_t own = args.tokens * hidden;
    fabricbench::check_nccl(
        ncclReduceScatter(y_, y_ + rank_ * own, static_cast<size_t>(own), ncclFloat, ncclSum, comm_, stream));
    to_bf16<<<blocks(own), 256, 0, stream>>>(y_ + rank_ * own, args.out, own);
  }

 private:
  // c[rows][columns] = a[rows][depth] times the transpose of b[columns][depth].
  void multiply(const __nv_bfloat16* b, const __nv_bfloat16* a, void* c, cudaDataType type, int columns, int rows,
                int depth, float alpha = 1, float beta = 0) {
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, columns, rows, depth, &alpha, b,
                                           CUDA_R_16BF, depth, a, CUDA_R_16BF, depth, &beta, c, type, columns,
                                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  // c += 1/2 * (a times the transpose of first[lora][depth], in bf16) times the transpose of second[columns][lora].
  void adapt(const __nv_bfloat16* first, const __nv_bfloat16* second, const __nv_bfloat16* a, float* c, int columns,
             int rows, int depth, int lora) {
    multiply(first, a, factor_, CUDA_R_16BF, lora, rows, depth);
    multiply(second, factor_, c, CUDA_R_32F, columns, rows, lora, 0.5F, 1);
  }

  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t cublas_ = nullptr;
  __nv_bfloat16 *x_ = nullptr, *h_ = nullptr, *factor_ = nullptr;
  float *logits_ = nullptr, *weights_ = nullptr, *u_ = nullptr, *v_ = nullptr, *y_ = nullptr;
};
// [/solution]
