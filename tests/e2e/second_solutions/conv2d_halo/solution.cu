// Pixels are unfolded in one direction: to each its two neighbours in the row are added, so that a row of the filters
// is one product of cuBLAS with all rows of pixels, above, the same or below. Three of them add up in float, and a
// kernel rounds. Edge rows come by NCCL, unfolded, on another stream, beside the product that needs none of them.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cublas_v2.h>
#include <fabricbench/nccl.h>

#include <stdexcept>

constexpr int kThreads = 256;

using Vector = uint4;  // eight numbers

// unfolded[i][j][q] = x[i][j + q - 1], zeros beside the image; a pixel has `vectors` vectors.
__global__ void unfold(const Vector* x, Vector* unfolded, int64_t pixels, int64_t width, int64_t vectors) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < pixels * 3 * vectors; at += stride) {
    const int64_t pixel = at / (3 * vectors);
    const int64_t column = pixel % width + at / vectors % 3 - 1;
    Vector value = make_uint4(0, 0, 0, 0);
    if (column >= 0 && column < width) value = x[(pixel / width * width + column) * vectors + at % vectors];
    unfolded[at] = value;
  }
}

__global__ void round_sums(const float* sums, __nv_bfloat16* y, int64_t numbers) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x; at < numbers; at += stride) {
    y[at] = __float2bfloat16_rn(sums[at]);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const auto row = static_cast<size_t>(args.width);
    const size_t bytes = static_cast<size_t>(args.rows + 2) * row * 3 * static_cast<size_t>(args.channels) * 2;
    check(cudaMalloc(&unfolded_, bytes));
    // The rows above the first and below the last rank, where nothing is received, stay 0.
    check(cudaMemset(unfolded_, 0, bytes));
    check(cudaMalloc(&sums_, static_cast<size_t>(args.rows) * row * static_cast<size_t>(args.filters) * sizeof(float)));
    check(cudaDeviceSynchronize());
    check(cudaStreamCreateWithFlags(&edges_, cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
    check(cudaEventCreateWithFlags(&received_, cudaEventDisableTiming));
    check(cublasCreate(&cublas_));
  }
  ~Solution() {
    cublasDestroy(cublas_);
    cudaEventDestroy(received_);
    cudaEventDestroy(begun_);
    cudaStreamDestroy(edges_);
    cudaFree(sums_);
    cudaFree(unfolded_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t row = args.width * 3 * args.channels;  // numbers of an unfolded row
    __nv_bfloat16* first = unfolded_ + row;              // this rank's first row, between one above and one below
    __nv_bfloat16* last = first + (args.rows - 1) * row;
    const int64_t pixels = args.rows * args.width;
    unfold<<<blocks(pixels * 3 * args.channels / 8), kThreads, 0, stream>>>(reinterpret_cast<const Vector*>(args.x),
                                                                            reinterpret_cast<Vector*>(first), pixels,
                                                                            args.width, args.channels / 8);

    // Edges: behind the kernel above, and behind the last reads of the rows by the call before.
    check(cudaEventRecord(begun_, stream));
    check(cudaStreamWaitEvent(edges_, begun_));
    // In a group: each of the four operations may wait for another rank's, which comes in another order there.
    check(ncclGroupStart());
    if (rank_ > 0) {
      check(ncclSend(first, row, ncclBfloat16, rank_ - 1, comm_, edges_));
      check(ncclRecv(first - row, row, ncclBfloat16, rank_ - 1, comm_, edges_));
    }
    if (rank_ + 1 < world_) {
      check(ncclSend(last, row, ncclBfloat16, rank_ + 1, comm_, edges_));
      check(ncclRecv(last + row, row, ncclBfloat16, rank_ + 1, comm_, edges_));
    }
    check(ncclGroupEnd());
    check(cudaEventRecord(received_, edges_));

    check(cublasSetStream(cublas_, stream));
    multiply(args, 1, 0.0f);
    // The rows above and below are needed from here on; also, the next call unfolds behind the sends of this one.
    check(cudaStreamWaitEvent(stream, received_));
    multiply(args, 0, 1.0f);
    multiply(args, 2, 1.0f);
    round_sums<<<blocks(pixels * args.filters), kThreads, 0, stream>>>(sums_, args.y, pixels * args.filters);
  }

 private:
  // sums = keep * sums + what row p of the filters adds: sums[pixel][o] += unfolded[p * width + pixel][q][c] *
  // w[o][p][q][c]. cuBLAS has columns first, so that all are transposed.
  void multiply(const Args& args, int p, float keep) {
    const float one = 1;
    const int inner = static_cast<int>(3 * args.channels);
    const int filters = static_cast<int>(args.filters);
    check(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, filters, static_cast<int>(args.rows * args.width), inner,
                       &one, args.w + p * inner, CUDA_R_16BF, 3 * inner, unfolded_ + p * args.width * inner,
                       CUDA_R_16BF, inner, &keep, sums_, CUDA_R_32F, filters, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  static unsigned blocks(int64_t items) {
    return static_cast<unsigned>(std::min<int64_t>(1024, (items + kThreads - 1) / kThreads));
  }
  static void check(cudaError_t error) { fabricbench::check_cuda(error, "CUDA"); }
  static void check(ncclResult_t result) { fabricbench::check_nccl(result); }
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
  }

  int rank_;
  int world_;
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* unfolded_ = nullptr;  // [rows + 2][width][3][channels]
  float* sums_ = nullptr;              // [rows][width][filters]
  cudaStream_t edges_ = nullptr;
  cudaEvent_t begun_ = nullptr;
  cudaEvent_t received_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
};
// [/solution]
