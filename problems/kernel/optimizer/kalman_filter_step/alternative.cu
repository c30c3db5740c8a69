// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 128;

// Adds up the sums of all ranks where they are, from the last to the first.
__device__ double sum_of_all(const Peers<const double>& sums, double lambda, int64_t blocks, int world) {
  double sum = 0;
  for (int r = world - 1; r >= 0; --r) sum += *sums.of[r];
  return sum + static_cast<double>(world * blocks) * lambda;
}

__global__ void update_covariances(Args args, Peers<const double> sums, const double* gain, int world) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, n = args.n;
  if (i >= args.blocks * n * n) return;
  const int64_t row = i / n, column = i / (n * n) * n + i % n;
  const double sum = sum_of_all(sums, *args.lambda, args.blocks, world);
  args.p_out[i] = (args.p[i] - gain[row] * gain[column] / sum) / *args.lambda;
}

// Every rank computes the new weights of all ranks (blockIdx.y), from their gains and old weights.
__global__ void update_weights(Args args, Peers<const double> sums, Peers<const double> gains, Peers<const double> w,
                               int world) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, rows = args.blocks * args.n;
  if (i >= rows) return;
  const double sum = sum_of_all(sums, *args.lambda, args.blocks, world);
  args.weights[blockIdx.y * rows + i] = w.of[blockIdx.y][i] + *args.error / sum * gains.of[blockIdx.y][i];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        sums_(rank, sizeof(double)),
        gains_(rank, static_cast<size_t>(args.blocks * args.n) * sizeof(double)),
        w_(rank, args.w) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    fabricbench::check_cublas(cublasSetPointerMode(cublas_, CUBLAS_POINTER_MODE_DEVICE));
    const double constants[] = {1, 0};
    fabricbench::check_cuda(cudaMalloc(&constants_, sizeof constants));
    fabricbench::check_cuda(cudaMemcpy(constants_, constants, sizeof constants, cudaMemcpyHostToDevice));
  }
  ~Solution() {
    cudaFree(constants_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto grid = [](int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); };
    const auto n = static_cast<int>(args.n);
    const int64_t rows = args.blocks * args.n;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    for (int64_t b = 0; b < args.blocks; ++b)  // symmetric: rows or columns do not matter
      fabricbench::check_cublas(cublasDgemv(cublas_, CUBLAS_OP_N, n, n, constants_, args.p + b * args.n * args.n, n,
                                            args.h + b * args.n, 1, constants_ + 1, gains_.mine<double>() + b * args.n,
                                            1));
    fabricbench::check_cublas(
        cublasDdot(cublas_, static_cast<int>(rows), args.h, 1, gains_.mine<double>(), 1, sums_.mine<double>()));
    // all sums and gains are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    update_covariances<<<grid(rows * args.n), kThreads, 0, stream>>>(args, sums_.peers<const double>(),
                                                                     gains_.mine<double>(), world_);
    update_weights<<<dim3(grid(rows), static_cast<unsigned>(world_)), kThreads, 0, stream>>>(
        args, sums_.peers<const double>(), gains_.peers<const double>(), w_.peers<const double>(), world_);
    // all have been read
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, sums_, gains_, w_;
  cublasHandle_t cublas_ = nullptr;
  double* constants_ = nullptr;
};
// [/solution]
