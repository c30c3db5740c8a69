// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <stdexcept>

constexpr int kThreads = 256;

// whole[row][s] = shards[s][row]: pieces of `quads` times 16 bytes.
__global__ void interleave(const int4* shards, int4* whole, int64_t rows, int64_t world, int64_t quads) {
  for (int64_t q = int64_t{blockIdx.x} * kThreads + threadIdx.x; q < rows * world * quads;
       q += int64_t{gridDim.x} * kThreads) {
    const int64_t row = q / quads / world, s = q / quads % world;
    whole[q] = shards[(s * rows + row) * quads + q % quads];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    const size_t bytes = static_cast<size_t>(args.m * args.k * world_) * sizeof(__nv_bfloat16);
    fabricbench::check_cuda(cudaMalloc(&shards_, bytes));
    fabricbench::check_cuda(cudaMalloc(&whole_, bytes));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(whole_);
    cudaFree(shards_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto count = static_cast<size_t>(args.m * args.k);
    fabricbench::check_nccl(ncclAllGather(args.a, shards_, count, ncclBfloat16, comm_, stream));

    const int64_t quads = args.k / 8, all = args.m * world_ * quads;
    interleave<<<static_cast<unsigned>((all + kThreads - 1) / kThreads), kThreads, 0, stream>>>(shards_, whole_, args.m,
                                                                                                world_, quads);

    const auto m = static_cast<int>(args.m), n = static_cast<int>(args.n), depth = static_cast<int>(args.k) * world_;
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const auto status =
        cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, depth, &one, args.b, CUDA_R_16BF, depth, whole_,
                     CUDA_R_16BF, depth, &zero, args.c, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGemmEx");
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  int4 *shards_ = nullptr, *whole_ = nullptr;
};
// [/solution]
