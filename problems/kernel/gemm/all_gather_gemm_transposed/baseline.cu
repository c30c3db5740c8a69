// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <stdexcept>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(
        cudaMalloc(&whole_, static_cast<size_t>(args.tokens * args.hidden * world_) * sizeof(__nv_bfloat16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(whole_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto count = static_cast<size_t>(args.tokens * args.hidden);
    fabricbench::check_nccl(ncclAllGather(args.x, whole_, count, ncclBfloat16, comm_, stream));

    // By columns, as cuBLAS has it: Xᵀ, as it is in memory, times the transpose of gradᵀ.
    const auto hidden = static_cast<int>(args.hidden), columns = static_cast<int>(args.columns);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const auto status =
        cublasGemmEx(blas_, CUBLAS_OP_N, CUBLAS_OP_T, hidden, columns, static_cast<int>(args.tokens) * world_, &one,
                     whole_, CUDA_R_16BF, hidden, args.grad, CUDA_R_16BF, columns, &zero, args.weight_grad, CUDA_R_32F,
                     hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGemmEx");
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  __nv_bfloat16* whole_ = nullptr;
};
// [/solution]
