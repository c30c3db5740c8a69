// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;
constexpr int kThreads = 128, kDim = 64;

// Reads this rank's heads of all tokens from the ranks that have them. Grid: (tokens, world).
__global__ void pull(Peers<const int4> from, int4* to, int64_t quads, int rank) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    to[(source * tokens + token) * quads + i] = from.of[source][(token * world + rank) * quads + i];
}

// Reads the results of all heads for this rank's tokens. Grid: (tokens, world).
__global__ void pull_back(Peers<const int4> from, int4* to, int64_t quads, int rank) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    to[(token * world + source) * quads + i] = from.of[source][(rank * tokens + token) * quads + i];
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

// result[query][head] = values[head][query] / sums[head][query]. A block for each row of `values`.
__global__ void divide(const float* values, const float* sums, bf16* result, int64_t queries, int64_t heads,
                       int64_t dim) {
  const int64_t row = blockIdx.x, head = row / queries, query = row % queries;
  for (int64_t d = threadIdx.x; d < dim; d += blockDim.x)
    result[(query * heads + head) * dim + d] = __float2bfloat16(values[row * dim + d] / sums[row]);
}

// Each rank reads what it needs from its peers, between barriers, and divides by the sums of exponentials at the end.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        queries_(rank, args.q),
        keys_(rank, args.k),
        values_(rank, args.v),
        results_(rank, static_cast<size_t>(world_ * args.tokens * args.heads * kDim) * sizeof(bf16)) {
    const int64_t queries = world_ * args.tokens, rows = args.heads * queries;
    fabricbench::check_cuda(cudaMalloc(&qkv_, static_cast<size_t>(3 * rows * kDim) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&scores_, static_cast<size_t>(rows * queries) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, static_cast<size_t>(rows * queries) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(rows) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&unscaled_, static_cast<size_t>(rows * kDim) * sizeof(float)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    for (void* memory : {static_cast<void*>(qkv_), static_cast<void*>(scores_), static_cast<void*>(weights_),
                         static_cast<void*>(sums_), static_cast<void*>(unscaled_)})
      cudaFree(memory);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t queries = world_ * args.tokens, rows = args.heads * queries, count = rows * kDim;
    const int64_t quads = args.heads * kDim / 8;
    const dim3 pieces(static_cast<unsigned>(args.tokens), static_cast<unsigned>(world_));
    const auto barrier = [&] {
      fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    };
    barrier();  // all inputs are there
    const fabricbench::PeerMemory* inputs[] = {&queries_, &keys_, &values_};
    for (int which = 0; which < 3; ++which)
      pull<<<pieces, 64, 0, stream>>>(inputs[which]->peers<const int4>(), reinterpret_cast<int4*>(qkv_ + which * count),
                                      quads, rank_);

    const auto n = static_cast<int>(queries), dim = kDim, heads = static_cast<int>(args.heads);
    const float scale = 1 / std::sqrt(static_cast<float>(dim)), one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_cublas(
        cublasGemmStridedBatchedEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, n, dim, &scale, qkv_ + count, CUDA_R_16BF,
                                   heads * dim, dim, qkv_, CUDA_R_16BF, heads * dim, dim, &zero, scores_, CUDA_R_32F, n,
                                   queries * queries, heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    exponentials<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(scores_, weights_, sums_, queries);
    fabricbench::check_cublas(
        cublasGemmStridedBatchedEx(blas_, CUBLAS_OP_N, CUBLAS_OP_N, dim, n, n, &one, qkv_ + 2 * count, CUDA_R_16BF,
                                   heads * dim, dim, weights_, CUDA_R_16BF, n, queries * queries, &zero, unscaled_,
                                   CUDA_R_32F, dim, queries * dim, heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    divide<<<static_cast<unsigned>(rows), 64, 0, stream>>>(unscaled_, sums_, results_.mine<bf16>(), queries, args.heads,
                                                           kDim);
    barrier();  // all results are there, and all inputs have been read
    pull_back<<<pieces, 64, 0, stream>>>(results_.peers<const int4>(), reinterpret_cast<int4*>(args.out), quads, rank_);
    // The next call's first barrier is behind this: results are written again when all have read them.
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, queries_, keys_, values_, results_;
  cublasHandle_t blas_ = nullptr;
  bf16 *qkv_ = nullptr, *weights_ = nullptr;
  float *scores_ = nullptr, *sums_ = nullptr, *unscaled_ = nullptr;
};
// [/solution]
