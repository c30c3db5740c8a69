// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

// Parts stay in float until they are added up: NCCL sums them in float, and a kernel rounds once.
__global__ void round_to_bf16(const float4* sums, uint2* y, int64_t quads) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  const float4 v = sums[i];
  const __nv_bfloat162 low = __floats2bfloat162_rn(v.x, v.y), high = __floats2bfloat162_rn(v.z, v.w);
  y[i] = {*reinterpret_cast<const uint32_t*>(&low), *reinterpret_cast<const uint32_t*>(&high)};
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(args.tokens * args.hidden) * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(sums_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto tokens = static_cast<int>(args.tokens), hidden = static_cast<int>(args.hidden),
               depth = static_cast<int>(args.depth);
    const int64_t count = args.tokens * args.hidden;
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, tokens, depth, &one, args.weight,
                                           CUDA_R_16BF, depth, args.x, CUDA_R_16BF, depth, &zero, sums_, CUDA_R_32F,
                                           hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_nccl(ncclAllReduce(sums_, sums_, static_cast<size_t>(count), ncclFloat, ncclSum, comm_, stream));
    round_to_bf16<<<static_cast<unsigned>((count / 4 + 255) / 256), 256, 0, stream>>>(
        reinterpret_cast<const float4*>(sums_), reinterpret_cast<uint2*>(args.y), count / 4);
  }

 private:
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  float* sums_ = nullptr;
};
// [/solution]
