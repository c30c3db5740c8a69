// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

#include <utility>

using fabricbench::Peers;
__global__ void add_up(Peers<float> parts, float* sum, int64_t count, int world) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float own = 0;
  for (int r = 0; r < world; ++r) own += parts.of[r][i];
  sum[i] = own;
}

// The trace of the Gram matrix is the square of the norm.
__global__ void normalise(const float* m, const float* gram, float* x, int64_t rows, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float squares = 0;
  for (int64_t r = 0; r < rows; ++r) squares += gram[r * (rows + 1)];
  x[i] = m[i] / fmaxf(sqrtf(squares), 1e-7F);
}

// y = a x + b g x + c g (g x), from the two products
__global__ void combine(const float* x, const float* once, const float* twice, float* y, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = 3.4445F * x[i] - 4.7750F * once[i] + 2.0315F * twice[i];
}

// The steps with products from the right: no square of the Gram matrix is formed.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        parts_(rank, static_cast<size_t>(args.rows * args.rows) * sizeof(float)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto bytes = static_cast<size_t>(args.rows * args.cols) * sizeof(float);
    fabricbench::check_cuda(cudaMalloc(&gram_, static_cast<size_t>(args.rows * args.rows) * sizeof(float)));
    for (auto** memory : {&x_, &next_, &once_, &twice_}) fabricbench::check_cuda(cudaMalloc(memory, bytes));
  }
  ~Solution() {
    for (auto* memory : {gram_, x_, next_, once_, twice_}) cudaFree(memory);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const int64_t count = args.rows * args.cols;
    const auto blocks = static_cast<unsigned>((count + 255) / 256);
    gram(args, args.m, stream);
    normalise<<<blocks, 256, 0, stream>>>(args.m, gram_, x_, args.rows, count);
    for (int step = 0; step < 5; ++step) {
      gram(args, x_, stream);
      multiply(args, x_, once_);
      multiply(args, once_, twice_);
      combine<<<blocks, 256, 0, stream>>>(x_, once_, twice_, step < 4 ? next_ : args.out, count);
      std::swap(x_, next_);
    }
  }

 private:
  void gram(const Args& args, const float* x, cudaStream_t stream) {
    const auto rows = static_cast<int>(args.rows), cols = static_cast<int>(args.cols);
    const int64_t count = args.rows * args.rows;
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, rows, rows, cols, &one, x, cols, x, cols,
                                          &zero, parts_.mine<float>(), rows));
    // all parts are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    add_up<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(parts_.peers<float>(), gram_, count, world_);
    // all have read them
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }
  void multiply(const Args& args, const float* x, float* y) {
    const auto rows = static_cast<int>(args.rows), cols = static_cast<int>(args.cols);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(
        cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, cols, rows, rows, &one, x, cols, gram_, rows, &zero, y, cols));
  }

  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, parts_;
  cublasHandle_t cublas_ = nullptr;
  float *gram_ = nullptr, *x_ = nullptr, *next_ = nullptr, *once_ = nullptr, *twice_ = nullptr;
};
// [/solution]
