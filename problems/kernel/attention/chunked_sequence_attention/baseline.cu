// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

using bf16 = __nv_bfloat16;

constexpr int kThreads = 128, kWarp = 32, kDim = 128;
constexpr int64_t kQuads = kDim / 8;  // units of 16 bytes of a head

// packed[chunk][peer][token] = its heads of q, then of k and v. Grid: (chunks * tokens, world).
__global__ void pack(const int4* q, const int4* k, const int4* v, int4* packed, int64_t tokens, int64_t share) {
  const int64_t row = blockIdx.x, peer = blockIdx.y, world = gridDim.y, queries = share * kQuads;
  const int64_t length = queries + 2 * kQuads;
  int4* to = packed + ((row / tokens * world + peer) * tokens + row % tokens) * length;
  const int64_t place = row * world + peer;  // of a head of keys
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x)
    to[i] = i < queries            ? q[place * queries + i]
            : i < queries + kQuads ? k[place * kQuads + i - queries]
                                   : v[place * kQuads + i - queries - kQuads];
}

// out[chunk][token][source] = packed[chunk][source][token]. Grid: (chunks * tokens, world).
__global__ void unpack(const int4* packed, int4* out, int64_t tokens, int64_t quads) {
  const int64_t row = blockIdx.x, source = blockIdx.y, world = gridDim.y;
  const int4* from = packed + ((row / tokens * world + source) * tokens + row % tokens) * quads;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x) out[(row * world + source) * quads + i] = from[i];
}

// weights[row] = softmax(scores[row]), a warp for each row. `scores` are in units of log 2.
__global__ void softmax(const float* scores, bf16* weights, int64_t rows, int64_t keys) {
  const int64_t row = int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= rows) return;
  const auto lane = static_cast<int64_t>(threadIdx.x % kWarp);
  const float* from = scores + row * keys;
  float top = -INFINITY, sum = 0;
  for (int64_t j = lane; j < keys; j += kWarp) top = fmaxf(top, from[j]);
  for (int step = 1; step < kWarp; step *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
  for (int64_t j = lane; j < keys; j += kWarp) sum += exp2f(from[j] - top);
  for (int step = 1; step < kWarp; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
  for (int64_t j = lane; j < keys; j += kWarp) weights[row * keys + j] = __float2bfloat16(exp2f(from[j] - top) / sum);
}

// Everything is exchanged, then computed chunk by chunk, then exchanged back.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : world_(rank.world()), row_((args.share + 2) * kDim), comm_(rank) {
    const int64_t queries = world_ * args.tokens, keys = args.chunks * queries, pairs = args.share * queries * keys;
    fabricbench::check_cuda(cudaMalloc(&packed_, static_cast<size_t>(keys * row_) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&qkv_, static_cast<size_t>(keys * row_) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&result_, static_cast<size_t>(keys * args.share * kDim) * sizeof(bf16)));
    fabricbench::check_cuda(cudaMalloc(&scores_, static_cast<size_t>(pairs) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&weights_, static_cast<size_t>(pairs) * sizeof(bf16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(packed_);
    cudaFree(qkv_);
    cudaFree(result_);
    cudaFree(scores_);
    cudaFree(weights_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto in = [](const bf16* p) { return reinterpret_cast<const int4*>(p); };
    const auto to = [](bf16* p) { return reinterpret_cast<int4*>(p); };
    const dim3 pieces(static_cast<unsigned>(args.chunks * args.tokens), static_cast<unsigned>(world_));
    pack<<<pieces, kThreads, 0, stream>>>(in(args.q), in(args.k), in(args.v), to(packed_), args.tokens, args.share);
    exchange(packed_, qkv_, args.chunks, args.tokens * row_, stream);

    // qkv is [chunk][source][token][heads of q, k, v] now: rows of `row_` numbers, in the order of the sequence's
    // chunks. cuBLAS has columns where these matrices have rows.
    const int64_t queries = world_ * args.tokens, width = args.share * kDim;
    const auto n = static_cast<int>(queries), share = static_cast<int>(args.share), step = static_cast<int>(row_);
    const float scale = 1.44269504F / std::sqrt(static_cast<float>(kDim)), one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    for (int64_t c = 0; c < args.chunks; ++c) {
      const int keys = static_cast<int>(c + 1) * n;
      const int64_t pairs = queries * keys, rows = args.share * queries;
      fabricbench::check_cublas(
          cublasGemmStridedBatchedEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, keys, n, kDim, &scale, qkv_ + width, CUDA_R_16BF,
                                     step, 0, qkv_ + c * queries * row_, CUDA_R_16BF, step, kDim, &zero, scores_,
                                     CUDA_R_32F, keys, pairs, share, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      softmax<<<static_cast<unsigned>((rows * kWarp + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
          scores_, weights_, rows, keys);
      fabricbench::check_cublas(cublasGemmStridedBatchedEx(
          blas_, CUBLAS_OP_N, CUBLAS_OP_N, kDim, n, keys, &one, qkv_ + width + kDim, CUDA_R_16BF, step, 0, weights_,
          CUDA_R_16BF, keys, pairs, &zero, result_ + c * queries * width, CUDA_R_16BF, static_cast<int>(width), kDim,
          share, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
    exchange(result_, packed_, args.chunks, args.tokens * width, stream);
    unpack<<<pieces, kThreads, 0, stream>>>(in(packed_), to(args.out), args.tokens, args.share * kQuads);
  }

 private:
  // Both sides are [chunk][peer] blocks of `count` numbers.
  void exchange(const bf16* from, bf16* to, int64_t chunks, int64_t count, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    for (int64_t c = 0; c < chunks; ++c) {
      for (int peer = 0; peer < world_; ++peer) {
        const int64_t at = (c * world_ + peer) * count;
        fabricbench::check_nccl(ncclSend(from + at, static_cast<size_t>(count), ncclBfloat16, peer, comm_, stream));
        fabricbench::check_nccl(ncclRecv(to + at, static_cast<size_t>(count), ncclBfloat16, peer, comm_, stream));
      }
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

  int world_;
  int64_t row_;  // numbers of a token on the rank of its heads
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t blas_ = nullptr;
  bf16 *packed_ = nullptr, *qkv_ = nullptr, *result_ = nullptr, *weights_ = nullptr;
  float* scores_ = nullptr;
};
// [/solution]
