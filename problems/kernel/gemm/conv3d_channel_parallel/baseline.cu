// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128;

// Writes what the filters see as a matrix: columns[k][n] for term k = (channel, frame, row, column of the filter) and
// position n. A thread has 8 positions, which are in one row of a frame. Grid: (positions / 8 / kThreads, terms).
__global__ void __launch_bounds__(kThreads)
    unfold(const __nv_bfloat16* x, int4* columns, int octets, int frames, int height, int width) {
  const auto octet = static_cast<int>(blockIdx.x * kThreads + threadIdx.x), k = static_cast<int>(blockIdx.y);
  if (octet >= octets) return;
  const int n = octet * 8, frame = n / (height * width), row = n / width % height;
  const int64_t plane = k / 27 * (frames + 2) + frame + k % 27 / 9;
  const __nv_bfloat16* from = x + (plane * (height + 2) + row + k % 9 / 3) * (width + 2) + n % width + k % 3;
  __align__(16) __nv_bfloat16 values[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] = from[i];
  columns[int64_t{k} * octets + octet] = *reinterpret_cast<const int4*>(values);
}

__global__ void __launch_bounds__(kThreads)
    finish(const float4* sums, const __nv_bfloat16* bias, uint2* out, int quads, int quads_of_filter) {
  const auto q = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (q >= quads) return;
  const float4 v = sums[q];
  const float b = __bfloat162float(bias[q / quads_of_filter]);
  const __nv_bfloat162 low = __floats2bfloat162_rn(v.x + b, v.y + b), high = __floats2bfloat162_rn(v.z + b, v.w + b);
  out[q] = {*reinterpret_cast<const uint32_t*>(&low), *reinterpret_cast<const uint32_t*>(&high)};
}

// Unfolds the input, multiplies with cuBLAS, adds up by NCCL in float, and adds the bias.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : positions_(args.frames * args.height * args.width), terms_(27 * args.channels), comm_(rank) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    fabricbench::check_cuda(cudaMalloc(&columns_, static_cast<size_t>(terms_ * positions_) * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&sums_, static_cast<size_t>(args.filters * positions_) * sizeof(float)));
  }
  ~Solution() {
    cudaFree(columns_);
    cudaFree(sums_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto positions = static_cast<int>(positions_), terms = static_cast<int>(terms_);
    const auto filters = static_cast<int>(args.filters);
    const auto blocks = [](int items) { return static_cast<unsigned>((items + kThreads - 1) / kThreads); };
    unfold<<<dim3(blocks(positions / 8), static_cast<unsigned>(terms)), kThreads, 0, stream>>>(
        args.x, columns_, positions / 8, static_cast<int>(args.frames), static_cast<int>(args.height),
        static_cast<int>(args.width));
    // cuBLAS has columns where these matrices have rows: the product is that of the transposed factors, exchanged.
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, positions, filters, terms, &one, columns_,
                                           CUDA_R_16BF, positions, args.w, CUDA_R_16BF, terms, &zero, sums_, CUDA_R_32F,
                                           positions, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_nccl(
        ncclAllReduce(sums_, sums_, static_cast<size_t>(args.filters * positions_), ncclFloat, ncclSum, comm_, stream));
    const int quads = filters * positions / 4;
    finish<<<blocks(quads), kThreads, 0, stream>>>(reinterpret_cast<const float4*>(sums_), args.bias,
                                                   reinterpret_cast<uint2*>(args.out), quads, positions / 4);
  }

 private:
  int64_t positions_, terms_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t cublas_ = nullptr;
  int4* columns_ = nullptr;  // [terms][positions] of bf16
  float* sums_ = nullptr;    // [filters][positions]
};
// [/solution]
