// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128;
constexpr int kChannels = 4;  // of a thread

struct Grid {
  int channels, basis, lats, lons, azimuth, polar;  // `channels` are those of one rank of an azimuth group
  int first_lat;
};

// sums[polar][azimuth][channel][filter][lat][lon]: what this rank's latitudes add to the output at all latitudes and
// longitudes, for its share of the channels. points[azimuth][channel][lat][lon] has these latitudes whole.
// Grid: (latitudes of the output and filters, groups of channels, longitudes).
__global__ void convolve(Grid grid, const float* points, const int32_t* start, const int32_t* tap_lat,
                         const int32_t* tap_lon, const float* tap, float* sums) {
  const int latitudes = grid.lats * grid.polar, longitudes = grid.lons * grid.azimuth;
  const auto j = static_cast<int>(blockIdx.z * kThreads + threadIdx.x), row = static_cast<int>(blockIdx.x);
  const int first = static_cast<int>(blockIdx.y) * kChannels;
  if (j >= longitudes) return;
  const int plane = grid.lats * grid.lons;
  float sum[kChannels] = {};
  const int end = start[row + 1];
  for (int t = start[row]; t < end; ++t) {
    const int lat = tap_lat[t] - grid.first_lat;
    if (lat < 0 || lat >= grid.lats) continue;
    int lon = tap_lon[t] + j;
    if (lon >= longitudes) lon -= longitudes;
    const int a = lon / grid.lons;
    const float* point = points + (a * grid.channels * grid.lats + lat) * grid.lons + lon - a * grid.lons;
    const float number = tap[t];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) sum[c] += number * point[min(first + c, grid.channels - 1) * plane];
  }
  const int filter = row / latitudes, i = row % latitudes;
  const int block = i / grid.lats * grid.azimuth + j / grid.lons;
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    if (first + c < grid.channels)
      sums[((block * grid.channels + first + c) * grid.basis + filter) * plane + i % grid.lats * grid.lons +
           j % grid.lons] = sum[c];
  }
}

__global__ void spread_bias(const float* bias, float* out, int plane) {
  const auto i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i < plane) out[static_cast<int>(blockIdx.y) * plane + i] = bias[blockIdx.y];
}

// Channels are divided over an azimuth group, so that each rank has whole latitudes; sums are completed over the polar
// group; then they go back, and channels are mixed.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    const auto azimuth = static_cast<int>(args.azimuth);
    const int a = rank.rank() % azimuth, q = rank.rank() / azimuth;
    grid_ = {static_cast<int>(args.channels) / azimuth,
             static_cast<int>(args.basis),
             static_cast<int>(args.lats),
             static_cast<int>(args.lons),
             azimuth,
             rank.world() / azimuth,
             q * static_cast<int>(args.lats)};
    fabricbench::check_nccl(ncclCommSplit(comm_, q, a, &azimuth_, nullptr));
    fabricbench::check_nccl(ncclCommSplit(comm_, a, q, &polar_, nullptr));
    fabricbench::check_cublas(cublasCreate(&cublas_));
    points_count_ = args.channels * args.lats * args.lons;
    const auto points = static_cast<size_t>(points_count_) * sizeof(float);
    const size_t sums = points * static_cast<size_t>(args.basis);
    fabricbench::check_cuda(cudaMalloc(&points_, points));
    fabricbench::check_cuda(cudaMalloc(&sums_, sums * static_cast<size_t>(grid_.polar)));
    fabricbench::check_cuda(cudaMalloc(&complete_, sums));
    fabricbench::check_cuda(cudaMalloc(&all_, sums));
  }
  ~Solution() {
    for (float* memory : {points_, sums_, complete_, all_}) cudaFree(memory);
    cublasDestroy(cublas_);
    ncclCommDestroy(azimuth_);
    ncclCommDestroy(polar_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const int plane = grid_.lats * grid_.lons, depth = static_cast<int>(args.channels * args.basis);
    const auto features = static_cast<int>(args.features);
    const int rows = grid_.basis * grid_.lats * grid_.polar, longitudes = grid_.lons * grid_.azimuth;
    exchange(args.x, points_, points_count_ / grid_.azimuth, stream);
    const dim3 grid(blocks(rows, 1), blocks(grid_.channels, kChannels), blocks(longitudes, kThreads));
    convolve<<<grid, kThreads, 0, stream>>>(grid_, points_, args.start, args.tap_lat, args.tap_lon, args.tap, sums_);
    const int64_t count = points_count_ * args.basis;
    fabricbench::check_nccl(
        ncclReduceScatter(sums_, complete_, static_cast<size_t>(count), ncclFloat, ncclSum, polar_, stream));
    exchange(complete_, all_, count / grid_.azimuth, stream);
    spread_bias<<<dim3(blocks(plane, kThreads), blocks(features, 1)), kThreads, 0, stream>>>(args.bias, args.out,
                                                                                             plane);
    // out[feature][point] += weight[feature][channel, filter] all[channel, filter][point]; cuBLAS has columns where
    // these matrices have rows.
    const float one = 1;
    fabricbench::check_cublas(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, plane, features, depth, &one, all_, plane,
                                          args.weight, depth, &one, args.out, plane));
  }

 private:
  static unsigned blocks(int items, int each) { return static_cast<unsigned>((items + each - 1) / each); }
  // `count` numbers from each rank of the azimuth group to each.
  void exchange(const float* from, float* to, int64_t count, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < grid_.azimuth; ++peer) {
      fabricbench::check_nccl(
          ncclSend(from + peer * count, static_cast<size_t>(count), ncclFloat, peer, azimuth_, stream));
      fabricbench::check_nccl(
          ncclRecv(to + peer * count, static_cast<size_t>(count), ncclFloat, peer, azimuth_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

  Grid grid_ = {};
  int64_t points_count_ = 0;
  fabricbench::NcclCommunicator comm_;
  ncclComm_t azimuth_ = nullptr, polar_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  float *points_ = nullptr, *sums_ = nullptr, *complete_ = nullptr, *all_ = nullptr;
};
// [/solution]
