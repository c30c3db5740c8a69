// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

#include <vector>

using bf16 = __nv_bfloat16;
constexpr int kDim = 128;

// A block of 128 threads for each query, [head][token]. Scores and products of dout and v are [rank][head][token][key],
// and so are probabilities and ds.
__global__ void probabilities(const float* scores, const float* by_value, const bf16* out, const bf16* dout,
                              const float* lse, bf16* p, bf16* ds, int tokens, int heads, int rank, int world) {
  __shared__ float parts[kDim / 32];
  const int row = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x), local = 2 * tokens;
  const int64_t mine = (int64_t{row % local} * heads + row / local) * kDim + thread;
  float delta = __bfloat162float(out[mine]) * __bfloat162float(dout[mine]);
  for (int step = 16; step > 0; step /= 2) delta += __shfl_xor_sync(~0u, delta, step);
  if (thread % 32 == 0) parts[thread / 32] = delta;
  __syncthreads();
  delta = parts[0] + parts[1] + parts[2] + parts[3];

  const auto position = [&](int owner, int t) {
    return (t < tokens ? owner : 2 * world - 1 - owner) * tokens + t % tokens;
  };
  const float scale = 1 / sqrtf(kDim);
  for (int i = thread; i < world * local; i += kDim) {
    const int owner = i / local, key = i % local;
    const int64_t at = (int64_t{owner} * heads * local + row) * local + key;
    const bool seen = position(owner, key) <= position(rank, row % local);
    const float weight = seen ? expf(scale * scores[at] - lse[row]) : 0;
    p[at] = __float2bfloat16(weight);
    ds[at] = __float2bfloat16(scale * (by_value[at] - delta) * weight);
  }
}

// A block of 128 threads for each row of dq, dk and dv. Parts of dq are [rank][head][token], those of dk and dv
// [sender][head][token].
__global__ void add_up(const float* by_query, const float* by_key, const float* by_value, bf16* dq, bf16* dk, bf16* dv,
                       int local, int heads, int share, int world) {
  const int queries = local * heads, row = static_cast<int>(blockIdx.x), d = static_cast<int>(threadIdx.x);
  if (row < queries) {
    float sum = 0;
    for (int s = 0; s < world; ++s)
      sum += by_query[((int64_t{s} * heads + row % heads) * local + row / heads) * kDim + d];
    dq[int64_t{row} * kDim + d] = __float2bfloat16(sum);
    return;
  }
  const int kv_heads = heads / share, key = (row - queries) / kv_heads, head = (row - queries) % kv_heads;
  float first = 0, second = 0;
  for (int s = 0; s < world; ++s) {
    for (int h = head * share; h < (head + 1) * share; ++h) {
      const int64_t at = ((int64_t{s} * heads + h) * local + key) * kDim + d;
      first += by_key[at];
      second += by_value[at];
    }
  }
  dk[int64_t{row - queries} * kDim + d] = __float2bfloat16(first);
  dv[int64_t{row - queries} * kDim + d] = __float2bfloat16(second);
}

// Products read keys and values in the memory of their owners, and store gradients in inboxes there.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        local_(static_cast<int>(2 * args.tokens)),
        heads_(static_cast<int>(args.kv_heads * args.share)),
        square_(int64_t{world_} * heads_ * local_ * local_),
        parts_(int64_t{world_} * heads_ * local_ * kDim),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        keys_(rank, args.k),
        values_(rank, args.v),
        inboxes_(rank, static_cast<size_t>(2 * parts_) * sizeof(float)) {
    fabricbench::check_cublas(cublasCreate(&blas_));
    fabricbench::check_cuda(cudaMalloc(&scores_, static_cast<size_t>(2 * square_) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&p_, static_cast<size_t>(2 * square_) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&by_query_, static_cast<size_t>(parts_) * sizeof(float)));
    std::vector<const void*> pointers;
    // For each rank s and head h.
    const auto add = [&](auto of) {
      for (int s = 0; s < world_; ++s) {
        for (int h = 0; h < heads_; ++h) pointers.push_back(of(s, h));
      }
    };
    const int64_t products = int64_t{local_} * local_, rows = int64_t{local_} * kDim, inbox = rank_ * heads_ * rows;
    const auto key = [&](int s, int h) { return keys_.at<bf16>(s) + h / args.share * kDim; };
    add(key);
    add([&](int s, int h) { return values_.at<bf16>(s) + h / args.share * kDim; });
    add([&](int, int h) { return args.q + h * kDim; });
    add([&](int, int h) { return args.dout + h * kDim; });
    add([&](int s, int h) { return scores_ + (s * heads_ + h) * products; });
    add([&](int s, int h) { return scores_ + square_ + (s * heads_ + h) * products; });
    add([&](int s, int h) { return p_ + square_ + (s * heads_ + h) * products; });
    add([&](int s, int h) { return p_ + (s * heads_ + h) * products; });
    add([&](int s, int h) { return inboxes_.at<float>(s) + inbox + h * rows; });
    add([&](int s, int h) { return inboxes_.at<float>(s) + parts_ + inbox + h * rows; });
    add([&](int s, int h) { return by_query_ + (s * heads_ + h) * rows; });
    fabricbench::check_cuda(cudaMalloc(&pointers_, pointers.size() * sizeof(void*)));
    fabricbench::check_cuda(
        cudaMemcpy(pointers_, pointers.data(), pointers.size() * sizeof(void*), cudaMemcpyHostToDevice));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(scores_);
    cudaFree(p_);
    cudaFree(by_query_);
    cudaFree(pointers_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int all = world_ * heads_, q_row = heads_ * kDim, kv_row = static_cast<int>(args.kv_heads) * kDim;
    const auto pointers = [&](int which) { return const_cast<void**>(pointers_ + which * all); };
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    // All have begun the call: their keys and values are there, and their inboxes of the call before have been read.
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    fabricbench::check_cublas(cublasGemmBatchedEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, local_, local_, kDim, &one, pointers(0), CUDA_R_16BF, kv_row, pointers(2),
        CUDA_R_16BF, q_row, &zero, pointers(4), CUDA_R_32F, local_, 2 * all, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    probabilities<<<static_cast<unsigned>(local_ * heads_), kDim, 0, stream>>>(
        scores_, scores_ + square_, args.out, args.dout, args.lse, p_, p_ + square_, static_cast<int>(args.tokens),
        heads_, rank_, world_);
    fabricbench::check_cublas(cublasGemmBatchedEx(
        blas_, CUBLAS_OP_N, CUBLAS_OP_T, kDim, local_, local_, &one, pointers(2), CUDA_R_16BF, q_row, pointers(6),
        CUDA_R_16BF, local_, &zero, pointers(8), CUDA_R_32F, kDim, 2 * all, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_cublas(cublasGemmBatchedEx(
        blas_, CUBLAS_OP_N, CUBLAS_OP_N, kDim, local_, local_, &one, pointers(0), CUDA_R_16BF, kv_row, pointers(6),
        CUDA_R_16BF, local_, &zero, pointers(10), CUDA_R_32F, kDim, all, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    // All have stored into our inbox, and no peer reads our keys and values any more.
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    const float* inbox = inboxes_.mine<float>();
    add_up<<<static_cast<unsigned>(local_ * (heads_ + args.kv_heads)), kDim, 0, stream>>>(
        by_query_, inbox, inbox + parts_, args.dq, args.dk, args.dv, local_, heads_, static_cast<int>(args.share),
        world_);
  }

 private:
  int rank_, world_, local_, heads_;
  int64_t square_, parts_;  // numbers of all scores, and of all parts of a gradient
  uint32_t round_ = 0;      // the words of fresh memory are 0
  fabricbench::PeerMemory words_, keys_, values_, inboxes_;
  cublasHandle_t blas_ = nullptr;
  float* scores_ = nullptr;          // scores, then products of dout and v
  bf16* p_ = nullptr;                // probabilities, then ds
  float* by_query_ = nullptr;        // parts of dq
  const void** pointers_ = nullptr;  // of each rank and head: factors and results of the products
};
// [/solution]
