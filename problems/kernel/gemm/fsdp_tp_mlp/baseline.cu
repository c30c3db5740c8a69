// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

__global__ void gate(const float* u, const float* v, __nv_bfloat16* h, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) h[i] = __float2bfloat16(u[i] / (1 + __expf(-u[i])) * v[i]);
}

// Gathers whole weights as FSDP does, multiplies with cuBLAS, and adds the partial sums as tensor parallelism does.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : hidden_(rank.world() / args.tp * args.width), comm_(rank) {
    const int tp = static_cast<int>(args.tp), inner = rank.rank() % tp, outer = rank.rank() / tp;
    fabricbench::check_nccl(ncclCommSplit(comm_, inner, outer, &fsdp_, nullptr));
    fabricbench::check_nccl(ncclCommSplit(comm_, outer, inner, &tp_, nullptr));
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto hidden = static_cast<size_t>(hidden_), neurons = static_cast<size_t>(args.neurons);
    const auto tokens = static_cast<size_t>(args.tokens);
    for (auto& weights : weights_)
      fabricbench::check_cuda(cudaMalloc(&weights, hidden * neurons * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&u_, tokens * neurons * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&v_, tokens * neurons * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&h_, tokens * neurons * sizeof(__nv_bfloat16)));
  }
  ~Solution() {
    for (auto* weights : weights_) cudaFree(weights);
    cudaFree(u_);
    cudaFree(v_);
    cudaFree(h_);
    cublasDestroy(cublas_);
    ncclCommDestroy(fsdp_);
    ncclCommDestroy(tp_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto shard = static_cast<size_t>(args.width * args.neurons);
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllGather(args.w1, weights_[0], shard, ncclBfloat16, fsdp_, stream));
    fabricbench::check_nccl(ncclAllGather(args.w2, weights_[1], shard, ncclBfloat16, fsdp_, stream));
    fabricbench::check_nccl(ncclAllGather(args.w3, weights_[2], shard, ncclBfloat16, fsdp_, stream));
    fabricbench::check_nccl(ncclGroupEnd());

    // cuBLAS has columns where these matrices have rows: each product is that of the transposed factors, exchanged.
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto tokens = static_cast<int>(args.tokens), neurons = static_cast<int>(args.neurons);
    const auto hidden = static_cast<int>(hidden_);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, neurons, tokens, hidden, &one,
                                           weights_[0], CUDA_R_16BF, neurons, args.x, CUDA_R_16BF, hidden, &zero, u_,
                                           CUDA_R_32F, neurons, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, neurons, tokens, hidden, &one,
                                           weights_[1], CUDA_R_16BF, neurons, args.x, CUDA_R_16BF, hidden, &zero, v_,
                                           CUDA_R_32F, neurons, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    const int64_t count = args.tokens * args.neurons;
    gate<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(u_, v_, h_, count);
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, tokens, neurons, &one,
                                           weights_[2], CUDA_R_16BF, neurons, h_, CUDA_R_16BF, neurons, &zero, args.y,
                                           CUDA_R_16BF, hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_nccl(
        ncclAllReduce(args.y, args.y, static_cast<size_t>(args.tokens * hidden_), ncclBfloat16, ncclSum, tp_, stream));
  }

 private:
  int64_t hidden_;
  fabricbench::NcclCommunicator comm_;
  ncclComm_t fsdp_ = nullptr, tp_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  __nv_bfloat16* weights_[3] = {};  // [hidden][neurons] each
  float *u_ = nullptr, *v_ = nullptr;
  __nv_bfloat16* h_ = nullptr;
};
// [/solution]
