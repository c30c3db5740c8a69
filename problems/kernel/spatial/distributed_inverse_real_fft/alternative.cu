// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
// gathered[field][row][column]: this rank's rows of the columns of all ranks, where rank i has
// whole[field][column][row] of all rows. Grid: (columns of all ranks, fields).
__global__ void gather(Peers<const float2> whole, float2* gathered, int64_t first_row, int64_t rows, int64_t height,
                       int64_t world) {
  const int64_t v = blockIdx.x, half = gridDim.x, field = blockIdx.y;
  const int64_t owner = ((v + 1) * world - 1) / half, first = owner * half / world;
  const int64_t columns = (owner + 1) * half / world - first;
  const float2* column = whole.of[owner] + (field * columns + v - first) * height + first_row;
  for (int64_t h = threadIdx.x; h < rows; h += blockDim.x) gathered[(field * rows + h) * half + v] = column[h];
}

// Both transforms by their definition, as products with matrices of cosines and sines. Ranks read their rows where they
// are.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        half_(args.width / 2 + 1),
        columns_((rank_ + 1) * half_ / world_ - rank_ * half_ / world_),
        first_(rank_ * args.height / world_),
        rows_((rank_ + 1) * args.height / world_ - first_),
        words_(rank, static_cast<size_t>(world_) * sizeof(uint32_t)),
        // The same on all ranks.
        wholes_(rank,
                static_cast<size_t>(args.fields * ((half_ + world_ - 1) / world_) * args.height) * sizeof(float2)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const double scale = 1 / std::sqrt(static_cast<double>(args.height * args.width));
    const auto angle = [](int64_t j, int64_t k, int64_t n) {
      return 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
    };
    // Complex numbers to complex ones: [height][2][height][2].
    std::vector<float> first;
    for (int64_t u = 0; u < args.height; ++u) {
      for (int part = 0; part < 2; ++part) {
        for (int64_t h = 0; h < args.height; ++h) {
          const double c = scale * std::cos(angle(u, h, args.height)), s = scale * std::sin(angle(u, h, args.height));
          first.push_back(static_cast<float>(part == 0 ? c : -s));
          first.push_back(static_cast<float>(part == 0 ? s : c));
        }
      }
    }
    // Complex numbers to real ones: [half][2][width].
    std::vector<float> second;
    for (int64_t v = 0; v < half_; ++v) {
      const double weight = v == 0 || v == half_ - 1 ? 1 : 2;
      for (int part = 0; part < 2; ++part) {
        for (int64_t w = 0; w < args.width; ++w) {
          const double a = angle(v, w, args.width);
          second.push_back(static_cast<float>(weight * (part == 0 ? std::cos(a) : -std::sin(a))));
        }
      }
    }
    first_matrix_ = upload(first);
    second_matrix_ = upload(second);
    fabricbench::check_cuda(cudaMalloc(&gathered_, static_cast<size_t>(args.fields * rows_ * half_) * sizeof(float2)));
  }
  ~Solution() {
    for (float* memory : {first_matrix_, second_matrix_, gathered_}) cudaFree(memory);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto world = static_cast<unsigned>(world_);
    multiply(args.spectrum, first_matrix_, wholes_.mine<float>(), args.fields * columns_, 2 * args.height,
             2 * args.height);
    // all columns are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    gather<<<dim3(static_cast<unsigned>(half_), static_cast<unsigned>(args.fields)), 64, 0, stream>>>(
        wholes_.peers<const float2>(), reinterpret_cast<float2*>(gathered_), first_, rows_, args.height, world_);
    // all have read them
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    multiply(gathered_, second_matrix_, args.x, args.fields * rows_, 2 * half_, args.width);
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
  int64_t half_, columns_, first_, rows_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, wholes_;
  cublasHandle_t cublas_ = nullptr;
  float *first_matrix_ = nullptr, *second_matrix_ = nullptr, *gathered_ = nullptr;
};
// [/solution]
