// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;
constexpr int kThreads = 128, kDim = 128;

// to[chunk][source][token] = this rank's `quads` units of 16 bytes of the source's token. Grid: (chunks * tokens,
// world).
__global__ void pull(Peers<const int4> from, int4* to, int64_t tokens, int64_t quads, int rank) {
  const int64_t row = blockIdx.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    to[((row / tokens * world + source) * tokens + row % tokens) * quads + i] =
        from.of[source][(row * world + rank) * quads + i];
}

// The way back. Grid: (chunks * tokens, world).
__global__ void pull_back(Peers<const int4> from, int4* to, int64_t tokens, int64_t quads, int rank) {
  const int64_t row = blockIdx.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    to[(row * world + source) * quads + i] =
        from.of[source][((row / tokens * world + rank) * tokens + row % tokens) * quads + i];
}

// weights[row] = exp(scores[row] - their largest), and the sum of the weights. A block for each row.
__global__ void exponentials(const float* scores, bf16* weights, float* sums, int64_t keys) {
  __shared__ float tree[kThreads];
  const int64_t row = blockIdx.x;
  const auto thread = static_cast<int>(threadIdx.x);
  const auto reduce = [&](float value, bool maximum) {
    tree[thread] = value;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (thread < half)
        tree[thread] = maximum ? fmaxf(tree[thread], tree[thread + half]) : tree[thread] + tree[thread + half];
    }
    __syncthreads();
    const float result = tree[0];
    __syncthreads();
    return result;
  };
  float top = -INFINITY, sum = 0;
  for (int64_t j = thread; j < keys; j += kThreads) top = fmaxf(top, scores[row * keys + j]);
  top = reduce(top, true);
  for (int64_t j = thread; j < keys; j += kThreads) {
    const float weight = expf(scores[row * keys + j] - top);
    weights[row * keys + j] = __float2bfloat16(weight);
    sum += weight;
  }
  sum = reduce(sum, false);
  if (thread == 0) sums[row] = sum;
}

// result[row] = values[row] / sums[row]. A block for each row.
__global__ void divide(const float* values, const float* sums, bf16* result) {
  const int64_t row = blockIdx.x;
  result[row * kDim + threadIdx.x] = __float2bfloat16(values[row * kDim + threadIdx.x] / sums[row]);
}

// Each rank reads what it needs from its peers, between barriers. Queries of all heads are rows of one matrix, since
// they share the keys; sums of exponentials divide at the end.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        queries_(rank, args.q),
        keys_(rank, args.k),
        values_(rank, args.v),
        results_(rank, static_cast<size_t>(args.chunks * world_ * args.tokens * args.share * kDim) * sizeof(bf16)) {
    const int64_t keys = args.chunks * world_ * args.tokens, rows = world_ * args.tokens * args.share;
    fabricbench::check_cuda(cudaMalloc(&q_, static_cast<size_t>(keys * args.share * kDim) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&k_, static_cast<size_t>(keys * kDim) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&v_, static_cast<size_t>(keys * kDim) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&scores_, static_cast<size_t>(rows * keys) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, static_cast<size_t>(rows * keys) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(rows) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&unscaled_, static_cast<size_t>(rows * kDim) * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(q_);
    cudaFree(k_);
    cudaFree(v_);
    cudaFree(scores_);
    cudaFree(weights_);
    cudaFree(sums_);
    cudaFree(unscaled_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const dim3 pieces(static_cast<unsigned>(args.chunks * args.tokens), static_cast<unsigned>(world_));
    const int64_t key = kDim / 8, query = args.share * key, rows = world_ * args.tokens * args.share;
    const auto to = [](bf16* p) { return reinterpret_cast<int4*>(p); };
    const auto barrier = [&] {
      fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    };
    barrier();  // all inputs are there
    pull<<<pieces, 64, 0, stream>>>(queries_.peers<const int4>(), to(q_), args.tokens, query, rank_);
    pull<<<pieces, 64, 0, stream>>>(keys_.peers<const int4>(), to(k_), args.tokens, key, rank_);
    pull<<<pieces, 64, 0, stream>>>(values_.peers<const int4>(), to(v_), args.tokens, key, rank_);
    const auto n = static_cast<int>(rows);
    const float scale = 1 / std::sqrt(static_cast<float>(kDim)), one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    for (int64_t c = 0; c < args.chunks; ++c) {
      const auto keys = static_cast<int>((c + 1) * world_ * args.tokens);
      fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, keys, n, kDim, &scale, k_, CUDA_R_16BF,
                                             kDim, q_ + c * rows * kDim, CUDA_R_16BF, kDim, &zero, scores_, CUDA_R_32F,
                                             keys, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      exponentials<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(scores_, weights_, sums_, keys);
      fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_N, CUBLAS_OP_N, kDim, n, keys, &one, v_, CUDA_R_16BF,
                                             kDim, weights_, CUDA_R_16BF, keys, &zero, unscaled_, CUDA_R_32F, kDim,
                                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      divide<<<static_cast<unsigned>(rows), kDim, 0, stream>>>(unscaled_, sums_,
                                                               results_.mine<bf16>() + c * rows * kDim);
    }
    barrier();  // all results are there, and all inputs have been read
    pull_back<<<pieces, 64, 0, stream>>>(results_.peers<const int4>(), to(args.out), args.tokens, query, rank_);
    // The next call's first barrier is behind this: results are written again when all have read them.
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, queries_, keys_, values_, results_;
  cublasHandle_t blas_ = nullptr;
  bf16 *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *weights_ = nullptr;
  float *scores_ = nullptr, *sums_ = nullptr, *unscaled_ = nullptr;
};
// [/solution]
