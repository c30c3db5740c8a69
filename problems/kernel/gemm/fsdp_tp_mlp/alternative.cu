// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
__global__ void gate(const float* u, const float* v, __nv_bfloat16* h, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) h[i] = __float2bfloat16(u[i] / (1 + expf(-u[i])) * v[i]);
}

__global__ void add_up(Peers<float> partial, __nv_bfloat16* y, int64_t count, int first, int tp) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int t = 0; t < tp; ++t) sum += partial.of[first + t][i];
  y[i] = __float2bfloat16(sum);
}

// Gathers nothing: cuBLAS reads the shards where they are, one after the other.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        hidden_(rank.world() / args.tp * args.width),
        words_(rank, 64 * sizeof(uint32_t)),
        w1_(rank, args.w1),
        w2_(rank, args.w2),
        w3_(rank, args.w3),
        partial_(rank, static_cast<size_t>(args.tokens * hidden_) * sizeof(float)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto count = static_cast<size_t>(args.tokens * args.neurons);
    fabricbench::check_cuda(cudaMalloc(&u_, count * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&v_, count * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&h_, count * sizeof(__nv_bfloat16)));
  }
  ~Solution() {
    cudaFree(u_);
    cudaFree(v_);
    cudaFree(h_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto tokens = static_cast<int>(args.tokens), neurons = static_cast<int>(args.neurons);
    const auto hidden = static_cast<int>(hidden_), width = static_cast<int>(args.width), tp = static_cast<int>(args.tp);
    const int inner = rank_ % tp;
    // all shards are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    for (int f = 0; f < world_ / tp; ++f) {
      const float one = 1, keep = f == 0 ? 0 : 1;
      const auto multiply = [&](const __nv_bfloat16* shard, float* sums) {
        fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, neurons, tokens, width, &one, shard,
                                               CUDA_R_16BF, neurons, args.x + f * width, CUDA_R_16BF, hidden, &keep,
                                               sums, CUDA_R_32F, neurons, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      };
      multiply(w1_.at<__nv_bfloat16>(f * tp + inner), u_);
      multiply(w2_.at<__nv_bfloat16>(f * tp + inner), v_);
    }
    const int64_t count = args.tokens * args.neurons;
    gate<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(u_, v_, h_, count);
    for (int f = 0; f < world_ / tp; ++f) {
      const float one = 1, zero = 0;
      fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, width, tokens, neurons, &one,
                                             w3_.at<__nv_bfloat16>(f * tp + inner), CUDA_R_16BF, neurons, h_,
                                             CUDA_R_16BF, neurons, &zero, partial_.mine<float>() + f * width,
                                             CUDA_R_32F, hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
    // all partial sums are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    const int64_t outputs = args.tokens * hidden_;
    add_up<<<static_cast<unsigned>((outputs + 255) / 256), 256, 0, stream>>>(partial_.peers<float>(), args.y, outputs,
                                                                             rank_ - inner, tp);
    // all have read them
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  int64_t hidden_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, w1_, w2_, w3_, partial_;
  cublasHandle_t cublas_ = nullptr;
  float *u_ = nullptr, *v_ = nullptr;
  __nv_bfloat16* h_ = nullptr;
};
// [/solution]
