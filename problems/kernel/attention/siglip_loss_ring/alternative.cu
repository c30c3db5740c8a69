// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

// A warp for each image: the terms of one rank's texts, added to those of the steps before.
__global__ void add_terms(const float* products, const float* learned, float* loss, int batch, bool own, bool first) {
  const auto i = static_cast<int>(blockIdx.x), lane = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int j = lane; j < batch; j += 32) {
    const float logit = fmaf(learned[0], products[i * batch + j], learned[1]), x = own && j == i ? -logit : logit;
    sum += fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) loss[i] = first ? sum : loss[i] + sum;
}

// A ring: in every step texts go one rank on, and those that are there are compared with.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), count_(static_cast<size_t>(args.batch * args.dim)), comm_(rank) {
    for (auto*& texts : texts_) fabricbench::check_cuda(cudaMalloc(&texts, count_ * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&products_, static_cast<size_t>(args.batch * args.batch) * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(products_);
    for (auto* texts : texts_) cudaFree(texts);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto batch = static_cast<int>(args.batch), dim = static_cast<int>(args.dim);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    const __nv_bfloat16* here = args.text;
    for (int step = 0; step < world_; ++step) {
      fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, batch, batch, dim, &one, here,
                                             CUDA_R_16BF, dim, args.image, CUDA_R_16BF, dim, &zero, products_,
                                             CUDA_R_32F, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      add_terms<<<batch, 32, 0, stream>>>(products_, args.learned, args.loss, batch, step == 0, step == 0);
      if (step == world_ - 1) break;
      __nv_bfloat16* next = texts_[step % 2];
      fabricbench::check_nccl(ncclGroupStart());
      fabricbench::check_nccl(ncclSend(here, count_, ncclBfloat16, (rank_ + 1) % world_, comm_, stream));
      fabricbench::check_nccl(ncclRecv(next, count_, ncclBfloat16, (rank_ + world_ - 1) % world_, comm_, stream));
      fabricbench::check_nccl(ncclGroupEnd());
      here = next;
    }
  }

 private:
  int rank_, world_;
  size_t count_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  __nv_bfloat16* texts_[2] = {};
  float* products_ = nullptr;
};
// [/solution]
