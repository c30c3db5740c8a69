// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
// rows[n][k]: what the filters see at position n, one after the other. A block for each position.
__global__ void unfold(const __nv_bfloat16* x, __nv_bfloat16* rows, int64_t terms, int64_t frames, int64_t height,
                       int64_t width) {
  const int64_t n = blockIdx.x, frame = n / (height * width), row = n / width % height;
  for (int64_t k = threadIdx.x; k < terms; k += blockDim.x) {
    const int64_t plane = k / 27 * (frames + 2) + frame + k % 27 / 9;
    rows[n * terms + k] = x[(plane * (height + 2) + row + k % 9 / 3) * (width + 2) + n % width + k % 3];
  }
}

// Every rank adds up everything, beginning with itself. Grid: (positions / 128, filters).
__global__ void add_up(Peers<float> partial, const __nv_bfloat16* bias, __nv_bfloat16* out, int64_t positions, int rank,
                       int world) {
  const int64_t n = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, i = blockIdx.y * positions + n;
  if (n >= positions) return;
  float sum = __bfloat162float(bias[blockIdx.y]);
  for (int k = 0; k < world; ++k) sum += partial.of[(rank + k) % world][i];
  out[i] = __float2bfloat16(sum);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        positions_(args.frames * args.height * args.width),
        terms_(27 * args.channels),
        words_(rank, 64 * sizeof(uint32_t)),
        partial_(rank, static_cast<size_t>(args.filters * positions_) * sizeof(float)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    fabricbench::check_cuda(cudaMalloc(&rows_, static_cast<size_t>(terms_ * positions_) * sizeof(__nv_bfloat16)));
  }
  ~Solution() {
    cudaFree(rows_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    unfold<<<static_cast<unsigned>(positions_), 128, 0, stream>>>(args.x, rows_, terms_, args.frames, args.height,
                                                                  args.width);
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto positions = static_cast<int>(positions_), terms = static_cast<int>(terms_);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, positions, static_cast<int>(args.filters),
                                           terms, &one, rows_, CUDA_R_16BF, terms, args.w, CUDA_R_16BF, terms, &zero,
                                           partial_.mine<float>(), CUDA_R_32F, positions, CUBLAS_COMPUTE_32F,
                                           CUBLAS_GEMM_DEFAULT));
    // all partial sums are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    const dim3 grid(static_cast<unsigned>((positions_ + 127) / 128), static_cast<unsigned>(args.filters));
    add_up<<<grid, 128, 0, stream>>>(partial_.peers<float>(), args.bias, args.out, positions_, rank_, world_);
    // all have read them
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  int64_t positions_, terms_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, partial_;
  cublasHandle_t cublas_ = nullptr;
  __nv_bfloat16* rows_ = nullptr;
};
// [/solution]
