// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 128;

// grid[rank][channel][lat][lon]: the points of all ranks. Grid: (any, world).
__global__ void pull(Peers<const float> x, float* grid, int64_t count) {
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    grid[blockIdx.y * count + i] = x.of[blockIdx.y][i];
}

// Sums of all taps for this rank's points of the output. Grid: (points, channels, filters).
__global__ void convolve(Args args, const float* grid, float* sums, int64_t rank, int64_t world) {
  const int64_t lats = args.lats, lons = args.lons, azimuth = args.azimuth;
  const int64_t point = int64_t{blockIdx.x} * kThreads + threadIdx.x, channel = blockIdx.y, filter = blockIdx.z;
  if (point >= lats * lons) return;
  const int64_t row = filter * lats * (world / azimuth) + rank / azimuth * lats + point / lons;
  float sum = 0;
  for (int64_t t = args.start[row]; t < args.start[row + 1]; ++t) {
    const int64_t lat = args.tap_lat[t],
                  lon = (args.tap_lon[t] + rank % azimuth * lons + point % lons) % (lons * azimuth);
    const int64_t owner = lat / lats * azimuth + lon / lons;
    sum += args.tap[t] * grid[((owner * args.channels + channel) * lats + lat % lats) * lons + lon % lons];
  }
  sums[(channel * args.basis + filter) * lats * lons + point] = sum;
}

// Grid: (points, features).
__global__ void mix(Args args, const float* sums) {
  const int64_t points = args.lats * args.lons, depth = args.channels * args.basis;
  const int64_t point = int64_t{blockIdx.x} * kThreads + threadIdx.x, feature = blockIdx.y;
  if (point >= points) return;
  float sum = args.bias[feature];
  for (int64_t l = 0; l < depth; ++l) sum += args.weight[feature * depth + l] * sums[l * points + point];
  args.out[feature * points + point] = sum;
}

// All ranks get all points, and nothing has to be summed over ranks.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, static_cast<size_t>(rank.world()) * sizeof(uint32_t)),
        inputs_(rank, args.x) {
    const auto points = static_cast<size_t>(args.channels * args.lats * args.lons) * sizeof(float);
    fabricbench::check_cuda(cudaMalloc(&grid_, points * static_cast<size_t>(world_)));
    fabricbench::check_cuda(cudaMalloc(&sums_, points * static_cast<size_t>(args.basis)));
  }
  ~Solution() {
    cudaFree(grid_);
    cudaFree(sums_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    const int64_t points = args.lats * args.lons;
    const auto blocks = static_cast<unsigned>((points + kThreads - 1) / kThreads);
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    pull<<<dim3(16, world), kThreads, 0, stream>>>(inputs_.peers<const float>(), grid_, args.channels * points);
    // all have read them
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    convolve<<<dim3(blocks, static_cast<unsigned>(args.channels), static_cast<unsigned>(args.basis)), kThreads, 0,
               stream>>>(args, grid_, sums_, rank_, world_);
    mix<<<dim3(blocks, static_cast<unsigned>(args.features)), kThreads, 0, stream>>>(args, sums_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, inputs_;
  float *grid_ = nullptr, *sums_ = nullptr;
};
// [/solution]
