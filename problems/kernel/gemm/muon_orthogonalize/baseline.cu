// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <utility>

constexpr float kA = 3.4445F, kB = -4.7750F, kC = 2.0315F;
constexpr int kSteps = 5, kWarp = 32, kThreads = 1024;

__global__ void __launch_bounds__(kThreads) add_squares(const float* m, float* sum, int64_t count) {
  __shared__ float of_warp[kThreads / kWarp];
  float own = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) own += m[i] * m[i];
  for (int step = kWarp / 2; step > 0; step /= 2) own += __shfl_down_sync(~0u, own, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = own;
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  own = of_warp[threadIdx.x];
  for (int step = kWarp / 2; step > 0; step /= 2) own += __shfl_down_sync(~0u, own, step);
  if (threadIdx.x == 0) *sum = own;
}

__global__ void normalise(const float* m, const float* sum, float* x, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) x[i] = m[i] / fmaxf(sqrtf(*sum), 1e-7F);
}

// p = a I + b g + c g²
__global__ void polynomial(const float* gram, const float* square, float* p, int64_t rows) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < rows * rows) p[i] = (i % (rows + 1) == 0 ? kA : 0) + kB * gram[i] + kC * square[i];
}

// The steps as they are written down: a product, an all-reduce, and two more products each.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const size_t elements = static_cast<size_t>(args.rows * args.cols),
                 square = static_cast<size_t>(args.rows * args.rows);
    fabricbench::check_cuda(cudaMalloc(&sum_, sizeof(float)));
    for (auto& x : x_) fabricbench::check_cuda(cudaMalloc(&x, elements * sizeof(float)));
    for (auto** matrix : {&gram_, &square_, &p_}) fabricbench::check_cuda(cudaMalloc(matrix, square * sizeof(float)));
  }
  ~Solution() {
    for (auto* memory : {sum_, x_[0], x_[1], gram_, square_, p_}) cudaFree(memory);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const int64_t count = args.rows * args.cols, squared = args.rows * args.rows;
    const auto blocks = [](int64_t items) { return static_cast<unsigned>((items + 255) / 256); };
    const auto rows = static_cast<int>(args.rows), cols = static_cast<int>(args.cols);
    const float one = 1, zero = 0;
    add_squares<<<1, kThreads, 0, stream>>>(args.m, sum_, count);
    fabricbench::check_nccl(ncclAllReduce(sum_, sum_, 1, ncclFloat, ncclSum, comm_, stream));
    normalise<<<blocks(count), 256, 0, stream>>>(args.m, sum_, x_[0], count);
    // cuBLAS has columns where these matrices have rows: each product is that of the transposed factors, exchanged.
    float *x = x_[0], *next = x_[1];
    for (int step = 0; step < kSteps; ++step) {
      fabricbench::check_cublas(
          cublasSgemm(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, rows, rows, cols, &one, x, cols, x, cols, &zero, gram_, rows));
      fabricbench::check_nccl(
          ncclAllReduce(gram_, gram_, static_cast<size_t>(squared), ncclFloat, ncclSum, comm_, stream));
      fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, rows, rows, rows, &one, gram_, rows,
                                            gram_, rows, &zero, square_, rows));
      polynomial<<<blocks(squared), 256, 0, stream>>>(gram_, square_, p_, args.rows);
      fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, cols, rows, rows, &one, x, cols, p_,
                                            rows, &zero, step + 1 < kSteps ? next : args.out, cols));
      std::swap(x, next);
    }
  }

 private:
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t cublas_ = nullptr;
  float *sum_ = nullptr, *x_[2] = {}, *gram_ = nullptr, *square_ = nullptr, *p_ = nullptr;
};
// [/solution]
