// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

// The product, then the all-reduce.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&part_, static_cast<size_t>(args.tokens * args.hidden) * sizeof(__nv_bfloat16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(part_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto tokens = static_cast<int>(args.tokens), hidden = static_cast<int>(args.hidden),
               depth = static_cast<int>(args.depth);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    // cuBLAS has matrices by columns: what is x weight^T by rows is (weight x^T)^T there.
    fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, tokens, depth, &one, args.weight,
                                           CUDA_R_16BF, depth, args.x, CUDA_R_16BF, depth, &zero, part_, CUDA_R_16BF,
                                           hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_nccl(ncclAllReduce(part_, args.y, static_cast<size_t>(args.tokens * args.hidden), ncclBfloat16,
                                          ncclSum, comm_, stream));
  }

 private:
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  __nv_bfloat16* part_ = nullptr;
};
// [/solution]
