// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <stdexcept>

// The other way round: tokens stay where they are, and gradients come to them. Each rank makes its tokens' part of all
// gradients, and a reduce-scatter in float adds the parts up.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    const auto world = static_cast<size_t>(world_);
    fabricbench::check_cuda(
        cudaMalloc(&grads_, world * static_cast<size_t>(args.tokens * args.columns) * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(
        cudaMalloc(&parts_, world * static_cast<size_t>(args.columns * args.hidden) * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(parts_);
    cudaFree(grads_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t message = args.tokens * args.columns;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const auto count = static_cast<size_t>(message);
      fabricbench::check_nccl(ncclSend(args.grad + peer * message, count, ncclBfloat16, peer, comm_, stream));
      fabricbench::check_nccl(ncclRecv(grads_ + peer * message, count, ncclBfloat16, peer, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());

    const auto hidden = static_cast<int>(args.hidden), columns = static_cast<int>(args.columns);
    const auto tokens = static_cast<int>(args.tokens);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const auto status =
        cublasGemmStridedBatchedEx(blas_, CUBLAS_OP_N, CUBLAS_OP_T, hidden, columns, tokens, &one, args.x, CUDA_R_16BF,
                                   hidden, 0, grads_, CUDA_R_16BF, columns, message, &zero, parts_, CUDA_R_32F, hidden,
                                   args.columns * args.hidden, world_, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGemmStridedBatchedEx");
    fabricbench::check_nccl(ncclReduceScatter(parts_, args.weight_grad, static_cast<size_t>(args.columns * args.hidden),
                                              ncclFloat, ncclSum, comm_, stream));
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  __nv_bfloat16* grads_ = nullptr;
  float* parts_ = nullptr;
};
// [/solution]
