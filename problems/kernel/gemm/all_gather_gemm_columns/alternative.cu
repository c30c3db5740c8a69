// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

#include <stdexcept>

__global__ void round_all(const float* sums, __nv_bfloat16* c, int64_t elements) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += int64_t{gridDim.x} * blockDim.x)
    c[i] = __float2bfloat16(sums[i]);
}

// Nothing is gathered: a product for each shard, which cuBLAS reads where it is, and their sum in float.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), shards_(rank, args.a) {
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(args.m * args.n) * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(sums_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto m = static_cast<int>(args.m), n = static_cast<int>(args.n), k = static_cast<int>(args.k);
    const auto words = words_.peers<uint32_t>();
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all shards are there
    for (int step = 0; step < world_; ++step) {
      const int s = (rank_ + step) % world_;
      const auto status = cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, args.b + s * k, CUDA_R_16BF,
                                       k * world_, shards_.at(s), CUDA_R_16BF, k, step == 0 ? &zero : &one, sums_,
                                       CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
      if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGemmEx");
    }
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
    round_all<<<64, 256, 0, stream>>>(sums_, args.c, args.m * args.n);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, shards_;
  float* sums_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};
// [/solution]
