// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <stdexcept>

constexpr int kThreads = 256;

// c[row][s] = parts[s][row]: pieces of `quads` times 16 bytes.
__global__ void interleave(const int4* parts, int4* c, unsigned rows, unsigned world, unsigned quads) {
  const unsigned q = blockIdx.x * kThreads + threadIdx.x;
  if (q >= rows * world * quads) return;
  const unsigned row = q / quads / world, s = q / quads % world;
  c[q] = parts[(s * rows + row) * quads + q % quads];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&parts_, static_cast<size_t>(args.m * args.n * world_) * sizeof(__nv_bfloat16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(parts_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto m = static_cast<int>(args.m), n = static_cast<int>(args.n), k = static_cast<int>(args.k);
    const float one = 1, zero = 0;
    __nv_bfloat16* mine = parts_ + rank_ * args.m * args.n;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const auto status =
        cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, args.b, CUDA_R_16BF, k, args.a, CUDA_R_16BF, k,
                     &zero, mine, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGemmEx");

    const auto count = static_cast<size_t>(args.m * args.n);
    fabricbench::check_nccl(ncclAllGather(mine, parts_, count, ncclBfloat16, comm_, stream));

    const auto quads = static_cast<unsigned>(args.n / 8), rows = static_cast<unsigned>(args.m),
               world = static_cast<unsigned>(world_);
    interleave<<<(rows * world * quads + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        reinterpret_cast<const int4*>(parts_), reinterpret_cast<int4*>(args.c), rows, world, quads);
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  __nv_bfloat16* parts_ = nullptr;
};
// [/solution]
