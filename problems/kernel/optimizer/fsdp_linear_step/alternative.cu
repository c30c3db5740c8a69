// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 256;

// all[rank][token][feature] = x of that rank. blockIdx.y is the rank.
__global__ void fetch(Peers<const int4> x, int4* all, int64_t packs) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < packs) all[blockIdx.y * packs + i] = x.of[blockIdx.y][i];
}

__global__ void round_weights(const float* master, __nv_bfloat16* weights, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) weights[i] = __float2bfloat16(master[i]);
}

// errors[token of all ranks][row]: targets of this rank's rows are fetched where they are.
__global__ void errors_of(const float* y, Peers<const __nv_bfloat16> target, __nv_bfloat16* errors, int64_t tokens,
                          int64_t rows, int rank, int world) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= world * tokens * rows) return;
  const int64_t token = i / rows, row = i % rows;
  const float aim = __bfloat162float(target.of[token / tokens][(token % tokens * world + rank) * rows + row]);
  errors[i] = __float2bfloat16(y[i] - aim);
}

__global__ void update(Args args, const float* grad, float share) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= args.rows * args.width) return;
  float power1 = 1, power2 = 1;
  for (int t = 0; t < min(*args.step, 400); ++t) {
    power1 *= 0.9F;
    power2 *= 0.95F;
  }
  const float g = grad[i] * share;
  const float m = args.m[i] + 0.1F * (g - args.m[i]), v = args.v[i] + 0.05F * (g * g - args.v[i]);
  const float step = (m / (1 - power1)) / (sqrtf(v / (1 - power2)) + 1e-8F) + 0.1F * args.master[i];
  args.m_out[i] = m;
  args.v_out[i] = v;
  args.master_out[i] = args.master[i] - *args.lr * step;
}

// Gathers tokens instead of weights: gradients of this rank's rows need no other weights, and there is nothing to
// reduce.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        x_(rank, args.x),
        target_(rank, args.target) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto tokens = static_cast<size_t>(world_ * args.tokens), rows = static_cast<size_t>(args.rows);
    const auto width = static_cast<size_t>(args.width);
    fabricbench::check_cuda(cudaMalloc(&all_, tokens * width * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&weights_, rows * width * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&errors_, tokens * rows * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&y_, tokens * rows * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&grad_, rows * width * sizeof(float)));
  }
  ~Solution() {
    cudaFree(all_);
    cudaFree(weights_);
    cudaFree(errors_);
    cudaFree(y_);
    cudaFree(grad_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = [](int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); };
    const int64_t packs = args.tokens * args.width / 8, shard = args.rows * args.width;
    // all tokens are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    const dim3 grid(blocks(packs), static_cast<unsigned>(world_));
    fetch<<<grid, kThreads, 0, stream>>>(x_.peers<const int4>(), reinterpret_cast<int4*>(all_), packs);
    round_weights<<<blocks(shard), kThreads, 0, stream>>>(args.master, weights_, shard);

    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto tokens = static_cast<int>(world_ * args.tokens), rows = static_cast<int>(args.rows);
    const auto width = static_cast<int>(args.width);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, rows, tokens, width, &one, weights_,
                                           CUDA_R_16BF, width, all_, CUDA_R_16BF, width, &zero, y_, CUDA_R_32F, rows,
                                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    errors_of<<<blocks(world_ * args.tokens * args.rows), kThreads, 0, stream>>>(
        y_, target_.peers<const __nv_bfloat16>(), errors_, args.tokens, args.rows, rank_, world_);
    // all tokens have been read
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_N, CUBLAS_OP_T, width, rows, tokens, &one, all_,
                                           CUDA_R_16BF, width, errors_, CUDA_R_16BF, rows, &zero, grad_, CUDA_R_32F,
                                           width, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    update<<<blocks(shard), kThreads, 0, stream>>>(args, grad_, 1 / static_cast<float>(world_ * args.tokens));
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, x_, target_;
  cublasHandle_t cublas_ = nullptr;
  __nv_bfloat16 *all_ = nullptr, *weights_ = nullptr, *errors_ = nullptr;
  float *y_ = nullptr, *grad_ = nullptr;
};
// [/solution]
