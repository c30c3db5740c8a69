// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
// gathered[field][column][row]: this rank's columns of the rows of all ranks, where rank i has half[field][row][column]
// of all columns. Grid: (any, rows of all ranks, fields).
__global__ void gather(Peers<const float2> half, float2* gathered, int64_t first_column, int64_t columns, int64_t all,
                       int64_t world) {
  const int64_t h = blockIdx.y, height = gridDim.y, field = blockIdx.z;
  const int64_t owner = ((h + 1) * world - 1) / height, first = owner * height / world;
  const int64_t rows = (owner + 1) * height / world - first;
  const float2* row = half.of[owner] + (field * rows + h - first) * all + first_column;
  for (int64_t k = threadIdx.x; k < columns; k += blockDim.x) gathered[(field * columns + k) * height + h] = row[k];
}

// Both transforms by their definition, as products with matrices of cosines and sines. Ranks read their columns where
// they are.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        half_(args.width / 2 + 1),
        rows_((rank_ + 1) * args.height / world_ - rank_ * args.height / world_),
        first_(rank_ * half_ / world_),
        columns_((rank_ + 1) * half_ / world_ - first_),
        words_(rank, static_cast<size_t>(world_) * sizeof(uint32_t)),
        // The same on all ranks.
        halves_(rank,
                static_cast<size_t>(args.fields * ((args.height + world_ - 1) / world_) * half_) * sizeof(float2)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const double scale = 1 / std::sqrt(static_cast<double>(args.height * args.width));
    // Real numbers to complex ones: [width][half][2].
    std::vector<float> first;
    for (int64_t w = 0; w < args.width; ++w) {
      for (int64_t k = 0; k < half_; ++k) {
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(w * k % args.width) / static_cast<double>(args.width);
        first.push_back(static_cast<float>(scale * std::cos(angle)));
        first.push_back(static_cast<float>(scale * std::sin(angle)));
      }
    }
    // Complex numbers to complex ones: [height][2][height][2].
    std::vector<float> second;
    for (int64_t h = 0; h < args.height; ++h) {
      for (int part = 0; part < 2; ++part) {
        for (int64_t k = 0; k < args.height; ++k) {
          const double angle =
              -2 * std::numbers::pi * static_cast<double>(h * k % args.height) / static_cast<double>(args.height);
          const double c = std::cos(angle), s = std::sin(angle);
          second.push_back(static_cast<float>(part == 0 ? c : -s));
          second.push_back(static_cast<float>(part == 0 ? s : c));
        }
      }
    }
    first_matrix_ = upload(first);
    second_matrix_ = upload(second);
    fabricbench::check_cuda(
        cudaMalloc(&gathered_, static_cast<size_t>(args.fields * columns_ * args.height) * sizeof(float2)));
  }
  ~Solution() {
    for (float* memory : {first_matrix_, second_matrix_, gathered_}) cudaFree(memory);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto world = static_cast<unsigned>(world_);
    multiply(args.x, first_matrix_, halves_.mine<float>(), args.fields * rows_, args.width, 2 * half_);
    // all rows are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    gather<<<dim3(1, static_cast<unsigned>(args.height), static_cast<unsigned>(args.fields)), 64, 0, stream>>>(
        halves_.peers<const float2>(), reinterpret_cast<float2*>(gathered_), first_, columns_, half_, world_);
    // all have read them
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    multiply(gathered_, second_matrix_, args.spectrum, args.fields * columns_, 2 * args.height, 2 * args.height);
  }

 private:
  static float* upload(const std::vector<float>& numbers) {
    float* memory = nullptr;
    fabricbench::check_cuda(cudaMalloc(&memory, numbers.size() * sizeof(float)));
    fabricbench::check_cuda(cudaMemcpy(memory, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice));
    return memory;
  }
  // c[rows][columns] = a[rows][depth] b[depth][columns]; cuBLAS has columns where these matrices have rows.
  void multiply(const float* a, const float* b, float* c, int64_t rows, int64_t depth, int64_t columns) {
    const float one = 1, zero = 0;
    const auto m = static_cast<int>(columns), n = static_cast<int>(rows), k = static_cast<int>(depth);
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, b, m, a, k, &zero, c, m));
  }

  int rank_, world_;
  int64_t half_, rows_, first_, columns_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, halves_;
  cublasHandle_t cublas_ = nullptr;
  float *first_matrix_ = nullptr, *second_matrix_ = nullptr, *gathered_ = nullptr;
};
// [/solution]
