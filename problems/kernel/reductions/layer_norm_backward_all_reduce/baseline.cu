// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kWarps = 8;

// A warp reads 256 columns of a row; the warps of a block and the blocks in y share the rows. partial:
// [share][2][hidden].
__global__ void add_rows(const int4* dy, const int4* x, const float* mean, const float* rstd, float* partial,
                         int64_t tokens, int64_t quads) {
  __shared__ float of_warp[kWarps][16][kWarp];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int64_t quad = int64_t{blockIdx.x} * kWarp + lane;
  float sums[16] = {};
  if (quad < quads) {
#pragma unroll 4
    for (int64_t t = blockIdx.y * kWarps + warp; t < tokens; t += gridDim.y * kWarps) {
      const int4 g = dy[t * quads + quad], v = x[t * quads + quad];
      const float m = mean[t], factor = rstd[t];
      for (int k = 0; k < 4; ++k) {
        const float2 gradient = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(&g)[k]);
        const float2 value = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(&v)[k]);
        sums[2 * k] += (value.x - m) * factor * gradient.x;
        sums[2 * k + 1] += (value.y - m) * factor * gradient.y;
        sums[8 + 2 * k] += gradient.x;
        sums[8 + 2 * k + 1] += gradient.y;
      }
    }
  }
  for (int k = 0; k < 16; ++k) of_warp[warp][k][lane] = sums[k];
  __syncthreads();
  if (quad >= quads) return;
  for (int k = warp; k < 16; k += kWarps) {
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += of_warp[w][k][lane];
    partial[(blockIdx.y * 16 + k) * quads + quad] = sum;
  }
}

__global__ void fold(const float* partial, float* sums, int64_t count, int shares) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
#pragma unroll 8
  for (int share = 0; share < shares; ++share) sum += partial[share * count + i];
  sums[i] = sum;
}

__global__ void round_off(const float* sums, __nv_bfloat16* dgamma, __nv_bfloat16* dbeta, int64_t hidden) {
  const int64_t j = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (j >= hidden) return;
  const int64_t at = j % 8 * (hidden / 8) + j / 8;
  dgamma[j] = __float2bfloat16(sums[at]);
  dbeta[j] = __float2bfloat16(sums[hidden + at]);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    strips_ = static_cast<unsigned>((args.hidden / 8 + kWarp - 1) / kWarp);
    shares_ =
        std::max(1u, static_cast<unsigned>(std::min<int64_t>(132 / strips_, (args.tokens + kWarps - 1) / kWarps)));
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(2 * args.hidden) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&partial_, static_cast<size_t>(2 * args.hidden * shares_) * sizeof(float)));
  }
  ~Solution() {
    cudaFree(sums_);
    cudaFree(partial_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t count = 2 * args.hidden;
    add_rows<<<dim3(strips_, shares_), dim3(kWarp, kWarps), 0, stream>>>(
        reinterpret_cast<const int4*>(args.dy), reinterpret_cast<const int4*>(args.x), args.mean, args.rstd, partial_,
        args.tokens, args.hidden / 8);
    fold<<<static_cast<unsigned>((count + 63) / 64), 64, 0, stream>>>(partial_, sums_, count,
                                                                      static_cast<int>(shares_));
    fabricbench::check_nccl(ncclAllReduce(sums_, sums_, static_cast<size_t>(count), ncclFloat, ncclSum, comm_, stream));
    round_off<<<static_cast<unsigned>((args.hidden + 63) / 64), 64, 0, stream>>>(sums_, args.dgamma, args.dbeta,
                                                                                 args.hidden);
  }

 private:
  fabricbench::NcclCommunicator comm_;
  unsigned strips_, shares_;
  float *sums_ = nullptr, *partial_ = nullptr;
};
// [/solution]
