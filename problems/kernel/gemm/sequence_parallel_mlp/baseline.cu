// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

using bf16 = __nv_bfloat16;

constexpr int kThreads = 256;

// silu in place, 8 numbers for each thread.
__global__ void silu(int4* values, int64_t quads) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= quads) return;
  int4 bits = values[i];
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    pairs[k] = __floats2bfloat162_rn(v.x / (1 + __expf(-v.x)), v.y / (1 + __expf(-v.y)));
  }
  values[i] = bits;
}

// One step after the other.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : tokens_(rank.world() * args.rows), count_(static_cast<size_t>(args.rows * args.hidden)), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&all_, static_cast<size_t>(tokens_ * args.hidden) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&between_, static_cast<size_t>(tokens_ * args.inner) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&parts_, static_cast<size_t>(tokens_ * args.hidden) * sizeof(bf16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(parts_);
    cudaFree(between_);
    cudaFree(all_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_nccl(ncclAllGather(args.x, all_, count_, ncclBfloat16, comm_, stream));
    multiply(tokens_, args.inner, args.hidden, all_, args.up, between_);
    const int64_t quads = tokens_ * args.inner / 8;
    silu<<<static_cast<unsigned>((quads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        reinterpret_cast<int4*>(between_), quads);
    multiply(tokens_, args.hidden, args.inner, between_, args.down, parts_);
    fabricbench::check_nccl(ncclReduceScatter(parts_, args.y, count_, ncclBfloat16, ncclSum, comm_, stream));
  }

 private:
  // to[t][j] = sum over l of left[t][l] * right[j][l]. cuBLAS has matrices by columns: it is (right left^T)^T there.
  void multiply(int64_t rows, int64_t columns, int64_t depth, const bf16* left, const bf16* right, bf16* to) {
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(columns), static_cast<int>(rows), static_cast<int>(depth),
        &one, right, CUDA_R_16BF, static_cast<int>(depth), left, CUDA_R_16BF, static_cast<int>(depth), &zero, to,
        CUDA_R_16BF, static_cast<int>(columns), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  int64_t tokens_;  // of all ranks
  size_t count_;    // numbers of a rank's tokens
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  bf16 *all_ = nullptr, *between_ = nullptr, *parts_ = nullptr;
};
// [/solution]
