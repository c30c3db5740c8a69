// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 128;

// A block for each image; row i of `products` has one number for each text of all ranks.
__global__ void add_terms(const float* products, const float* learned, float* loss, int64_t texts, int64_t own) {
  __shared__ float of_warp[kThreads / kWarp];
  const float temperature = learned[0], bias = learned[1];
  float sum = 0;
  for (int64_t j = threadIdx.x; j < texts; j += kThreads) {
    const float logit = temperature * products[blockIdx.x * texts + j] + bias,
                x = j == own + blockIdx.x ? -logit : logit;
    sum += fmaxf(x, 0) + __logf(1 + __expf(-fabsf(x)));
  }
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) loss[blockIdx.x] = of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3];
}

// Gathers, multiplies, adds up.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), texts_(args.batch * rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&all_, static_cast<size_t>(texts_ * args.dim) * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&products_, static_cast<size_t>(texts_ * args.batch) * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(products_);
    cudaFree(all_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto batch = static_cast<int>(args.batch), dim = static_cast<int>(args.dim), texts = static_cast<int>(texts_);
    const float one = 1, zero = 0;
    fabricbench::check_nccl(
        ncclAllGather(args.text, all_, static_cast<size_t>(args.batch * args.dim), ncclBfloat16, comm_, stream));
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    // cuBLAS has matrices by columns: what is image text^T by rows is (text image^T)^T there.
    fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, texts, batch, dim, &one, all_, CUDA_R_16BF,
                                           dim, args.image, CUDA_R_16BF, dim, &zero, products_, CUDA_R_32F, texts,
                                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    add_terms<<<batch, kThreads, 0, stream>>>(products_, args.learned, args.loss, texts_, rank_ * args.batch);
  }

 private:
  int rank_;
  int64_t texts_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  __nv_bfloat16* all_ = nullptr;
  float* products_ = nullptr;
};
// [/solution]
