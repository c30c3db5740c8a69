// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

using bf16 = __nv_bfloat16;

constexpr int kThreads = 256, kWarp = 32, kDim = 64;

// packed[peer][token][which] = which[token][peer]: pieces of `quads` times 16 bytes. Grid: (tokens, world, 3).
__global__ void pack(const int4* q, const int4* k, const int4* v, int4* packed, int64_t quads) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, peer = blockIdx.y, world = gridDim.y, which = blockIdx.z;
  const int4* from = which == 0 ? q : which == 1 ? k : v;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    packed[((peer * tokens + token) * 3 + which) * quads + i] = from[(token * world + peer) * quads + i];
}

// out[token][source] = packed[source][token]. Grid: (tokens, world).
__global__ void unpack(const int4* packed, int4* out, int64_t quads) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    out[(token * world + source) * quads + i] = packed[(source * tokens + token) * quads + i];
}

// weights[row] = softmax(scores[row]), a warp for each row. `scores` are in units of log 2.
__global__ void softmax(const float* scores, bf16* weights, int64_t rows, int64_t keys) {
  const int64_t row = int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= rows) return;
  const auto lane = static_cast<int64_t>(threadIdx.x % kWarp);
  const float* from = scores + row * keys;
  float top = -INFINITY, sum = 0;
  for (int64_t j = lane; j < keys; j += kWarp) {
    const float next = fmaxf(top, from[j]);
    sum = sum * exp2f(top - next) + exp2f(from[j] - next);
    top = next;
  }
  float most = top;
  for (int step = 1; step < kWarp; step *= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  sum = top == -INFINITY ? 0 : sum * exp2f(top - most);  // lanes beyond the last key have seen none
  for (int step = 1; step < kWarp; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
  for (int64_t j = lane; j < keys; j += kWarp) weights[row * keys + j] = __float2bfloat16(exp2f(from[j] - most) / sum);
}

// One exchange of all three, two batches of products with a softmax in between, and the exchange back.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), message_(args.tokens * args.heads * kDim), comm_(rank) {
    const int64_t queries = world_ * args.tokens, pairs = args.heads * queries * queries;
    const auto bytes = static_cast<size_t>(world_ * message_) * sizeof(bf16);
    fabricbench::check_cuda(cudaMalloc(&packed_, 3 * bytes));
    fabricbench::check_cuda(cudaMalloc(&qkv_, 3 * bytes));
    fabricbench::check_cuda(cudaMalloc(&result_, bytes));
    fabricbench::check_cuda(cudaMalloc(&scores_, static_cast<size_t>(pairs) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, static_cast<size_t>(pairs) * sizeof(bf16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    for (void* memory : {static_cast<void*>(packed_), static_cast<void*>(qkv_), static_cast<void*>(result_),
                         static_cast<void*>(scores_), static_cast<void*>(weights_)})
      cudaFree(memory);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.heads * kDim / 8, queries = world_ * args.tokens;
    const auto tokens = static_cast<unsigned>(args.tokens), world = static_cast<unsigned>(world_);
    const auto in = [](const bf16* p) { return reinterpret_cast<const int4*>(p); };
    const auto to = [](bf16* p) { return reinterpret_cast<int4*>(p); };
    pack<<<dim3(tokens, world, 3), 64, 0, stream>>>(in(args.q), in(args.k), in(args.v), to(packed_), quads);
    exchange(packed_, qkv_, 3 * message_, stream);

    // qkv is [query][q, k, v][head][dim] now. cuBLAS has columns where these matrices have rows.
    const auto n = static_cast<int>(queries), dim = kDim, heads = static_cast<int>(args.heads);
    const int64_t one_of = args.heads * kDim;
    const auto step = static_cast<int>(3 * one_of);
    const float scale = 1.44269504F / std::sqrt(static_cast<float>(dim)), one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_cublas(cublasGemmStridedBatchedEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, n, dim, &scale, qkv_ + one_of, CUDA_R_16BF, step, dim, qkv_, CUDA_R_16BF,
        step, dim, &zero, scores_, CUDA_R_32F, n, queries * queries, heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    const int64_t rows = args.heads * queries;
    softmax<<<static_cast<unsigned>((rows * kWarp + kThreads - 1) / kThreads), kThreads, 0, stream>>>(scores_, weights_,
                                                                                                      rows, queries);
    fabricbench::check_cublas(
        cublasGemmStridedBatchedEx(blas_, CUBLAS_OP_N, CUBLAS_OP_N, dim, n, n, &one, qkv_ + 2 * one_of, CUDA_R_16BF,
                                   step, dim, weights_, CUDA_R_16BF, n, queries * queries, &zero, result_, CUDA_R_16BF,
                                   static_cast<int>(one_of), dim, heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));

    exchange(result_, packed_, message_, stream);
    unpack<<<dim3(tokens, world), 64, 0, stream>>>(in(packed_), to(args.out), quads);
  }

 private:
  void exchange(const bf16* from, bf16* to, int64_t count, cudaStream_t stream) {
    fabricbench::check_nccl(ncclAlltoAll(from, to, static_cast<size_t>(count), ncclBfloat16, comm_, stream));
  }

  int rank_, world_;
  int64_t message_;  // numbers of one tensor from one rank to another
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  bf16 *packed_ = nullptr, *qkv_ = nullptr, *result_ = nullptr, *weights_ = nullptr;
  float* scores_ = nullptr;
};
// [/solution]
