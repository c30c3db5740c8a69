// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

using bf16 = __nv_bfloat16;

// Everything stays in float as long as it can: sums are rounded once before each product, and once at the end.
template <bool kSilu>
__global__ void convert(const float* from, bf16* to, int64_t count) {
  const int64_t i = 2 * (int64_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (i >= count) return;
  float2 v = *reinterpret_cast<const float2*>(from + i);
  if (kSilu) v = {v.x / (1 + expf(-v.x)), v.y / (1 + expf(-v.y))};
  *reinterpret_cast<__nv_bfloat162*>(to + i) = __floats2bfloat162_rn(v.x, v.y);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : tokens_(rank.world() * args.rows), count_(args.rows * args.hidden), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&all_, static_cast<size_t>(tokens_ * args.hidden) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&active_, static_cast<size_t>(tokens_ * args.inner) * sizeof(bf16)));
    fabricbench::check_cuda(
        cudaMalloc(&sums_, static_cast<size_t>(tokens_ * std::max(args.inner, args.hidden)) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&mine_, static_cast<size_t>(count_) * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(mine_);
    cudaFree(sums_);
    cudaFree(active_);
    cudaFree(all_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const auto count = static_cast<size_t>(count_);
    fabricbench::check_nccl(ncclAllGather(args.x, all_, count, ncclBfloat16, comm_, stream));
    multiply(tokens_, args.inner, args.hidden, all_, args.up, sums_, CUDA_R_32F);
    convert<true><<<blocks(tokens_ * args.inner), 256, 0, stream>>>(sums_, active_, tokens_ * args.inner);
    multiply(tokens_, args.hidden, args.inner, active_, args.down, sums_, CUDA_R_32F);
    fabricbench::check_nccl(ncclReduceScatter(sums_, mine_, count, ncclFloat, ncclSum, comm_, stream));
    convert<false><<<blocks(count_), 256, 0, stream>>>(mine_, args.y, count_);
  }

 private:
  static unsigned blocks(int64_t count) { return static_cast<unsigned>((count / 2 + 255) / 256); }
  // to[t][j] = sum over l of left[t][l] * right[j][l]. cuBLAS has matrices by columns: it is (right left^T)^T there.
  void multiply(int64_t rows, int64_t columns, int64_t depth, const bf16* left, const bf16* right, void* to,
                cudaDataType type) {
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(columns), static_cast<int>(rows), static_cast<int>(depth),
        &one, right, CUDA_R_16BF, static_cast<int>(depth), left, CUDA_R_16BF, static_cast<int>(depth), &zero, to, type,
        static_cast<int>(columns), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  int64_t tokens_, count_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  bf16 *all_ = nullptr, *active_ = nullptr;
  float *sums_ = nullptr, *mine_ = nullptr;
};
// [/solution]
