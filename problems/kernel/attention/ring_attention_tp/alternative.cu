// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <vector>

#include "../ring_steps.h"

__global__ void round_to_bf16(const float* sums, bf16* out, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = __float2bfloat16(sums[i]);
}

// A ring: in every step keys and values go one rank on, and cuBLAS multiplies with those that are there.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank() / static_cast<int>(args.tp)),
        world_(rank.world() / static_cast<int>(args.tp)),
        heads_(static_cast<int>(args.kv_heads * args.share)),
        queries_(static_cast<int>(2 * args.tokens)),
        count_(static_cast<size_t>(2 * args.tokens * args.kv_heads * kDim)),
        comm_(rank) {
    const int inner = rank.rank() % static_cast<int>(args.tp);
    fabricbench::check_nccl(ncclCommSplit(comm_, inner, rank_, &cp_, nullptr));
    fabricbench::check_nccl(ncclCommSplit(comm_, rank_, inner, &tp_, nullptr));
    fabricbench::check_cuda(cudaMalloc(&context_, count_ * static_cast<size_t>(args.share) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(2 * args.tokens * args.hidden) * sizeof(float)));
    const auto scores = static_cast<size_t>(heads_) * queries_ * queries_;
    const auto rows = static_cast<size_t>(heads_) * queries_;
    for (bf16*& pair : pairs_) fabricbench::check_cuda(cudaMalloc(&pair, 2 * count_ * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&scores_, scores * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, scores * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&log_sums_, rows * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&factors_, rows * sizeof(float2)));
    fabricbench::check_cuda(cudaMalloc(&results_, rows * kDim * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&part_, rows * kDim * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
    std::vector<const void*> pointers;
    const auto add = [&](auto* base, int64_t step, int64_t share) {
      for (int h = 0; h < heads_; ++h) pointers.push_back(base + h / share * step);
    };
    for (int b = 0; b < 2; ++b) add(pairs_[b], kDim, args.share);           // keys
    for (int b = 0; b < 2; ++b) add(pairs_[b] + count_, kDim, args.share);  // values
    add(args.q, kDim, 1);
    add(scores_, int64_t{queries_} * queries_, 1);
    add(weights_, int64_t{queries_} * queries_, 1);
    add(part_, queries_ * kDim, 1);
    fabricbench::check_cuda(cudaMalloc(&pointers_, pointers.size() * sizeof(void*)));
    fabricbench::check_cuda(
        cudaMemcpy(pointers_, pointers.data(), pointers.size() * sizeof(void*), cudaMemcpyHostToDevice));
  }
  ~Solution() {
    for (bf16* pair : pairs_) cudaFree(pair);
    cudaFree(scores_);
    cudaFree(weights_);
    cudaFree(log_sums_);
    cudaFree(factors_);
    cudaFree(results_);
    cudaFree(part_);
    cudaFree(pointers_);
    cudaFree(context_);
    cudaFree(sums_);
    cublasDestroy(blas_);
    ncclCommDestroy(cp_);
    ncclCommDestroy(tp_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int dim = kDim, kv_stride = static_cast<int>(args.kv_heads) * dim;
    const auto rows = static_cast<unsigned>(heads_ * queries_);
    const float one = 1, zero = 0, scale = 1 / std::sqrt(static_cast<float>(dim));
    const auto pointers = [&](int which) { return pointers_ + which * heads_; };
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_cuda(
        cudaMemcpyAsync(pairs_[0], args.k, count_ * sizeof(bf16), cudaMemcpyDeviceToDevice, stream));
    fabricbench::check_cuda(
        cudaMemcpyAsync(pairs_[0] + count_, args.v, count_ * sizeof(bf16), cudaMemcpyDeviceToDevice, stream));
    for (int step = 0; step < world_; ++step) {
      const int here = step % 2, source = (rank_ - step + world_) % world_;
      const bool first = step == 0, last = step == world_ - 1;
      fabricbench::check_cublas(cublasGemmBatchedEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, queries_, queries_, dim, &scale,
                                                    pointers(here), CUDA_R_16BF, kv_stride, pointers(4), CUDA_R_16BF,
                                                    heads_ * dim, &zero, const_cast<void**>(pointers(5)), CUDA_R_32F,
                                                    queries_, heads_, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      exponentials<<<rows, 32, 0, stream>>>(scores_, weights_, log_sums_, factors_, static_cast<int>(args.tokens),
                                            rank_, source, world_, first);
      fabricbench::check_cublas(cublasGemmBatchedEx(blas_, CUBLAS_OP_N, CUBLAS_OP_N, dim, queries_, queries_, &one,
                                                    pointers(2 + here), CUDA_R_16BF, kv_stride, pointers(6),
                                                    CUDA_R_16BF, queries_, &zero, const_cast<void**>(pointers(7)),
                                                    CUDA_R_32F, dim, heads_, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      merge<<<rows, 64, 0, stream>>>(results_, part_, factors_, context_, queries_, dim, first, last);
      if (last) break;
      fabricbench::check_nccl(ncclGroupStart());
      fabricbench::check_nccl(ncclSend(pairs_[here], 2 * count_, ncclBfloat16, (rank_ + 1) % world_, cp_, stream));
      fabricbench::check_nccl(
          ncclRecv(pairs_[1 - here], 2 * count_, ncclBfloat16, (rank_ + world_ - 1) % world_, cp_, stream));
      fabricbench::check_nccl(ncclGroupEnd());
    }
    // Parts of the result stay in float until they are added up.
    const auto hidden = static_cast<int>(args.hidden);
    fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, queries_, heads_ * dim, &one,
                                           args.weight, CUDA_R_16BF, heads_ * dim, context_, CUDA_R_16BF, heads_ * dim,
                                           &zero, sums_, CUDA_R_32F, hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    const int64_t count = 2 * args.tokens * args.hidden;
    fabricbench::check_nccl(ncclAllReduce(sums_, sums_, static_cast<size_t>(count), ncclFloat, ncclSum, tp_, stream));
    round_to_bf16<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(sums_, args.out, count);
  }

 private:
  int rank_, world_, heads_, queries_;  // the first two along the sequence
  size_t count_;                        // numbers of a rank's keys
  fabricbench::NcclCommunicator comm_;
  ncclComm_t cp_ = nullptr, tp_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  bf16* context_ = nullptr;
  float* sums_ = nullptr;
  bf16* pairs_[2] = {};  // keys, then values
  float *scores_ = nullptr, *log_sums_ = nullptr, *results_ = nullptr, *part_ = nullptr;
  bf16* weights_ = nullptr;
  float2* factors_ = nullptr;
  const void** pointers_ = nullptr;  // of each head: keys and values in both pairs, queries, scores, weights, part
};
// [/solution]
