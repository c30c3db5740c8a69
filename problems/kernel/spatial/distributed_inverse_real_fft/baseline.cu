// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128;
constexpr int kMostPoints = 512;         // of a complex transform
constexpr int kRoots = 2 * kMostPoints;  // roots of 1 in the table: exp(2 pi i k / kRoots)

__device__ float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ float2 operator*(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ float2 conjugate(float2 a) { return {a.x, -a.y}; }
__device__ float2 turned(float2 a) { return {-a.y, a.x}; }  // times i

#include "../fourier.h"

// Of n lines rank r has those from first_of(n, r) to first_of(n, r + 1) - 1.
__host__ __device__ int first_of(int n, int rank, int world) { return rank * n / world; }
__host__ __device__ int owner_of(int n, int line, int world) { return ((line + 1) * world - 1) / n; }

// A block for each column: sent[rank][field][column][row], with the rows of that rank. Grid: (columns, fields).
__global__ void transform_columns(const float2* spectrum, float2* sent, int log2height, const float2* roots,
                                  float factor, int world) {
  __shared__ float2 buffers[2][kMostPoints];
  const int height = 1 << log2height;
  const int64_t column = int64_t{blockIdx.y} * gridDim.x + blockIdx.x, columns = int64_t{gridDim.x} * gridDim.y;
  for (int u = static_cast<int>(threadIdx.x); u < height; u += kThreads) buffers[0][u] = spectrum[column * height + u];
  __syncthreads();
  const float2* z = transform(buffers[0], buffers[1], log2height, roots);
  for (int h = static_cast<int>(threadIdx.x); h < height; h += kThreads) {
    const int owner = owner_of(height, h, world), first = first_of(height, owner, world);
    const int rows = first_of(height, owner + 1, world) - first;
    sent[columns * first + column * rows + h - first] = {z[h].x * factor, z[h].y * factor};
  }
}

// A block for each row of received[rank][field][column of that rank][row]. Grid: (rows, fields).
__global__ void transform_rows(const float2* received, float2* x, int log2points, const float2* roots, int world) {
  __shared__ float2 buffers[2][kMostPoints + 1];
  const int points = 1 << log2points, half = points + 1;
  const int rows = static_cast<int>(gridDim.x), fields = static_cast<int>(gridDim.y);
  for (int k = static_cast<int>(threadIdx.x); k < half; k += kThreads) {
    const int owner = owner_of(half, k, world), first = first_of(half, owner, world);
    const int columns = first_of(half, owner + 1, world) - first;
    const int64_t column = int64_t{fields} * first + int64_t{blockIdx.y} * columns + k - first;
    float2 value = received[column * rows + blockIdx.x];
    if (k == 0 || k == points) value.y = 0;  // adds to the imaginary part of the field, which is left out
    buffers[1][k] = value;
  }
  __syncthreads();
  // Even columns of the field and odd ones are transforms of half the length. Both are real: one is the real part of
  // the numbers that are transformed, the other the imaginary part.
  for (int k = static_cast<int>(threadIdx.x); k < points; k += kThreads) {
    const float2 a = buffers[1][k], b = conjugate(buffers[1][points - k]);
    buffers[0][k] = a + b + turned((a - b) * __ldg(roots + k * (kRoots / 2 >> log2points)));
  }
  __syncthreads();
  const float2* z = transform(buffers[0], buffers[1], log2points, roots);
  float2* to = x + (int64_t{blockIdx.y} * rows + blockIdx.x) * points;
  for (int k = static_cast<int>(threadIdx.x); k < points; k += kThreads) to[k] = z[k];
}

// Columns, an exchange by NCCL, rows.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        fields_(static_cast<int>(args.fields)),
        height_(static_cast<int>(args.height)),
        half_(static_cast<int>(args.width / 2 + 1)),
        comm_(rank) {
    while (1 << log2height_ < height_) ++log2height_;
    while (1 << log2points_ < half_ - 1) ++log2points_;
    std::vector<float2> roots(kRoots);
    for (int k = 0; k < kRoots; ++k) {
      const double angle = 2 * std::numbers::pi * k / kRoots;
      roots[static_cast<size_t>(k)] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    fabricbench::check_cuda(cudaMalloc(&roots_, kRoots * sizeof(float2)));
    fabricbench::check_cuda(cudaMemcpy(roots_, roots.data(), kRoots * sizeof(float2), cudaMemcpyHostToDevice));
    fabricbench::check_cuda(
        cudaMalloc(&sent_, static_cast<size_t>(fields_ * height_ * columns(rank_)) * sizeof(float2)));
    fabricbench::check_cuda(
        cudaMalloc(&received_, static_cast<size_t>(fields_ * rows(rank_) * half_) * sizeof(float2)));
  }
  ~Solution() {
    cudaFree(roots_);
    cudaFree(sent_);
    cudaFree(received_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto grid = [&](int lines) { return dim3(static_cast<unsigned>(lines), static_cast<unsigned>(fields_)); };
    const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(args.height * args.width)));
    transform_columns<<<grid(columns(rank_)), kThreads, 0, stream>>>(reinterpret_cast<const float2*>(args.spectrum),
                                                                     sent_, log2height_, roots_, factor, world_);
    fabricbench::check_nccl(ncclGroupStart());
    for (int k = 0; k < world_; ++k) {
      const int to = (rank_ + k) % world_, from = (rank_ - k + world_) % world_;
      const auto outgoing = static_cast<size_t>(2 * fields_ * columns(rank_) * rows(to));
      const auto incoming = static_cast<size_t>(2 * fields_ * columns(from) * rows(rank_));
      fabricbench::check_nccl(ncclSend(sent_ + int64_t{fields_} * columns(rank_) * first_of(height_, to, world_),
                                       outgoing, ncclFloat, to, comm_, stream));
      fabricbench::check_nccl(ncclRecv(received_ + int64_t{fields_} * first_of(half_, from, world_) * rows(rank_),
                                       incoming, ncclFloat, from, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
    transform_rows<<<grid(rows(rank_)), kThreads, 0, stream>>>(received_, reinterpret_cast<float2*>(args.x),
                                                               log2points_, roots_, world_);
  }

 private:
  int rows(int rank) const { return first_of(height_, rank + 1, world_) - first_of(height_, rank, world_); }
  int columns(int rank) const { return first_of(half_, rank + 1, world_) - first_of(half_, rank, world_); }

  int rank_, world_, fields_, height_, half_, log2height_ = 0, log2points_ = 0;
  fabricbench::NcclCommunicator comm_;
  float2 *roots_ = nullptr, *sent_ = nullptr, *received_ = nullptr;
};
// [/solution]
