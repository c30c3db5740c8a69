// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using bf16 = __nv_bfloat16;
constexpr int kWarp = 32, kDim = 64;

// weights[row] = exp2(scores[row] - their largest), and the sum of the weights. A warp for each row: block [head,
// token].
__global__ void exponentials(const float* scores, bf16* weights, float* sums, int64_t keys) {
  const int64_t row = blockIdx.x, lane = threadIdx.x;
  float top = -INFINITY, sum = 0;
  for (int64_t j = lane; j < keys; j += kWarp) top = fmaxf(top, scores[row * keys + j]);
  for (int step = 1; step < kWarp; step *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
  for (int64_t j = lane; j < keys; j += kWarp) {
    const float weight = exp2f(scores[row * keys + j] - top);
    weights[row * keys + j] = __float2bfloat16(weight);
    sum += weight;
  }
  for (int step = 1; step < kWarp; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) sums[row] = sum;
}

// y = x + values / sums. Grid: (tokens, heads); a thread for each number of a head.
__global__ void add(const bf16* x, const float* values, const float* sums, bf16* y) {
  const int64_t token = blockIdx.x, head = blockIdx.y, i = (token * gridDim.y + head) * kDim + threadIdx.x;
  y[i] = __float2bfloat16(__bfloat162float(x[i]) + values[i] / sums[head * gridDim.x + token]);
}

// In turn `t`, stage s computes micro-batch t - s, if there is one, from what the stage before has written into this
// rank's inbox of that micro-batch. Barriers of all ranks separate the turns. Nothing is gathered: products read keys
// and values where they are.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        cp_(static_cast<int>(args.cp)),
        words_(rank, 64 * sizeof(uint32_t)),
        keys_(rank, args.k),
        values_(rank, args.v),
        inboxes_(rank, static_cast<size_t>(args.batches * args.tokens * args.heads * kDim) * sizeof(bf16)) {
    const auto rows = static_cast<size_t>(args.tokens * args.heads), keys = static_cast<size_t>(args.cp * args.keys);
    fabricbench::check_cuda(cudaMalloc(&scores_, rows * keys * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, rows * keys * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&sums_, rows * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&total_, rows * kDim * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(scores_);
    cudaFree(weights_);
    cudaFree(sums_);
    cudaFree(total_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t count = args.tokens * args.heads * kDim, stages = world_ / cp_, stage = rank_ / cp_;
    for (int64_t turn = 0; turn < args.batches + stages - 1; ++turn) {
      fabricbench::rank_barrier_kernel<<<1, kWarp, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
      const int64_t m = turn - stage;
      if (m < 0 || m >= args.batches) continue;
      const bf16* x = stage == 0 ? args.x + m * count : inboxes_.mine<bf16>() + m * count;
      compute(args, x, args.y + m * count, stream);
      if (stage + 1 < stages)
        fabricbench::check_cuda(cudaMemcpyAsync(inboxes_.at<bf16>(rank_ + cp_) + m * count, args.y + m * count,
                                                static_cast<size_t>(count) * sizeof(bf16), cudaMemcpyDefault, stream));
    }
    // all have read keys and values
    fabricbench::rank_barrier_kernel<<<1, kWarp, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  void compute(const Args& args, const bf16* x, bf16* y, cudaStream_t stream) {
    const auto tokens = static_cast<int>(args.tokens), heads = static_cast<int>(args.heads), row = heads * kDim;
    const auto keys = static_cast<int>(args.keys), all = cp_ * keys;
    const int64_t pairs = args.tokens * all;
    const float scale = 1.44269504F / std::sqrt(static_cast<float>(kDim)), one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    for (int c = 0; c < cp_; ++c) {
      fabricbench::check_cublas(cublasGemmStridedBatchedEx(
          blas_, CUBLAS_OP_T, CUBLAS_OP_N, keys, tokens, kDim, &scale, keys_.at<bf16>(mate(c)), CUDA_R_16BF, row, kDim,
          x, CUDA_R_16BF, row, kDim, &zero, scores_ + c * keys, CUDA_R_32F, all, pairs, heads, CUBLAS_COMPUTE_32F,
          CUBLAS_GEMM_DEFAULT));
    }
    exponentials<<<static_cast<unsigned>(tokens * heads), kWarp, 0, stream>>>(scores_, weights_, sums_, all);
    for (int c = 0; c < cp_; ++c) {
      fabricbench::check_cublas(cublasGemmStridedBatchedEx(
          blas_, CUBLAS_OP_N, CUBLAS_OP_N, kDim, tokens, keys, &one, values_.at<bf16>(mate(c)), CUDA_R_16BF, row, kDim,
          weights_ + c * keys, CUDA_R_16BF, all, pairs, c == 0 ? &zero : &one, total_, CUDA_R_32F, row, kDim, heads,
          CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
    add<<<dim3(static_cast<unsigned>(tokens), static_cast<unsigned>(heads)), kDim, 0, stream>>>(x, total_, sums_, y);
  }
  int mate(int c) const { return rank_ - rank_ % cp_ + c; }

  int rank_, world_, cp_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, keys_, values_, inboxes_;
  cublasHandle_t blas_ = nullptr;
  bf16* weights_ = nullptr;
  float *scores_ = nullptr, *sums_ = nullptr, *total_ = nullptr;
};
// [/solution]
