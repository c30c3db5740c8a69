// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128;

// Writes what the filters see as a matrix: columns[pixel][p][q][channel]. A thread has 8 channels (an octet) of a
// pixel. Grid: (width * octets / kThreads, rows).
__global__ void __launch_bounds__(kThreads)
    unfold(const int4* x, const int4* above, const int4* below, int4* columns, int width, int octets) {
  const auto item = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (item >= width * octets) return;
  const int j = item / octets, octet = item % octets, i = static_cast<int>(blockIdx.y);
  const auto rows = static_cast<int>(gridDim.y);
  const int64_t row = int64_t{width} * octets;
  int4 seen[3][3] = {};
#pragma unroll
  for (int p = 0; p < 3; ++p) {
    const int from = i + p - 1;
    const int4* source = from < 0 ? above : from < rows ? x + from * row : below;
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      if (j + q >= 1 && j + q <= width) seen[p][q] = source[(j + q - 1) * octets + octet];
    }
  }
  int4* to = columns + (i * int64_t{width} + j) * 9 * octets + octet;
#pragma unroll
  for (int k = 0; k < 9; ++k) to[k * octets] = seen[k / 3][k % 3];
}

// Exchanges edge rows by NCCL, unfolds, and multiplies with cuBLAS.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), row_(args.width * args.channels), comm_(rank) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto bytes = static_cast<size_t>(2 * row_) * sizeof(__nv_bfloat16);
    fabricbench::check_cuda(cudaMalloc(&halos_, bytes));
    fabricbench::check_cuda(cudaMemset(halos_, 0, bytes));  // what is outside of the image stays zero
    fabricbench::check_cuda(cudaMalloc(&columns_, static_cast<size_t>(9 * args.rows * row_) * sizeof(__nv_bfloat16)));
  }
  ~Solution() {
    cudaFree(columns_);
    cudaFree(halos_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto count = static_cast<size_t>(row_);
    __nv_bfloat16 *above = halos_, *below = halos_ + row_;
    fabricbench::check_nccl(ncclGroupStart());
    if (rank_ > 0) {
      fabricbench::check_nccl(ncclSend(args.x, count, ncclBfloat16, rank_ - 1, comm_, stream));
      fabricbench::check_nccl(ncclRecv(above, count, ncclBfloat16, rank_ - 1, comm_, stream));
    }
    if (rank_ + 1 < world_) {
      const __nv_bfloat16* last = args.x + (args.rows - 1) * row_;
      fabricbench::check_nccl(ncclSend(last, count, ncclBfloat16, rank_ + 1, comm_, stream));
      fabricbench::check_nccl(ncclRecv(below, count, ncclBfloat16, rank_ + 1, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());

    const int64_t octets = row_ / 8;
    const dim3 grid(static_cast<unsigned>((octets + kThreads - 1) / kThreads), static_cast<unsigned>(args.rows));
    unfold<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const int4*>(args.x), reinterpret_cast<const int4*>(above),
                                          reinterpret_cast<const int4*>(below), reinterpret_cast<int4*>(columns_),
                                          static_cast<int>(args.width), static_cast<int>(args.channels / 8));
    // cuBLAS has matrices by columns: what is columns w^T by rows is (w columns^T)^T there.
    const auto pixels = static_cast<int>(args.rows * args.width), depth = static_cast<int>(9 * args.channels),
               filters = static_cast<int>(args.filters);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, filters, pixels, depth, &one, args.w,
                                           CUDA_R_16BF, depth, columns_, CUDA_R_16BF, depth, &zero, args.y, CUDA_R_16BF,
                                           filters, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

 private:
  int rank_, world_;
  int64_t row_;  // elements of a row of the image
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t cublas_ = nullptr;
  __nv_bfloat16* halos_ = nullptr;    // the rows above and below
  __nv_bfloat16* columns_ = nullptr;  // [pixels][9][channels]
};
// [/solution]
