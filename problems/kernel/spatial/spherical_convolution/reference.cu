#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kBlocks = 64;               // all resident at once: they wait for their peers
constexpr int kFeatures = 32, kLons = 4;  // of a tile of the output
constexpr int kThreads = kFeatures * kLons, kWarp = 32;
constexpr int kChannels = 32, kFilters = 4, kDepth = kChannels * kFilters;  // of the input, at a time
constexpr int kEach = 4;   // channels that a thread sums: with the same numbers of a filter
constexpr int kTaps = 32;  // of a list, at a time
static_assert(kThreads / (kFilters * kLons) * kEach >= kChannels && kFilters * kTaps <= kThreads);

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
using Ticket = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;

// A number of a filter: the place of its point for longitude 0, and the longitude from which on it wraps around.
struct Tap {
  int point, wraps;
  float number;
};

struct Grid {
  int rank, world, lats, lons, latitudes, longitudes, first_lat, first_lon;
};

// Points are fewer than sums: all ranks get all points, and nothing is summed over ranks. Each block first stores its
// share of this rank's points into the inboxes of all ranks, [channel][latitude][longitude]. Then it takes tiles of
// this rank's output, some features at some longitudes of one latitude: sums of lists go to shared memory, channels and
// filters a part at a time, and are mixed from there.
//
// `arrived[source]` is the last call of which all points of that source are there. Inboxes take turns, two of them: in
// call e a rank writes where call e - 2 was, and its owner has read that. Before the writer's call e - 1 ended, it had
// waited for points of call e - 1 from all ranks, and the owner sent those in a kernel that its stream started after
// that of call e - 2. No rank touches tensors of another one.
__global__ void __launch_bounds__(kThreads)
    convolve(Args args, Grid grid, Peers<float> inbox, Peers<uint32_t> arrived, uint32_t* blocks_done, uint32_t call) {
  __shared__ float weights[kFeatures][kDepth + 4];
  __shared__ alignas(16) float sums[kDepth][kLons];
  __shared__ Tap taps[kFilters][kTaps];
  __shared__ bool last;
  const auto thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const auto blocks = static_cast<int>(gridDim.x);
  const auto channels = static_cast<int>(args.channels), features = static_cast<int>(args.features);
  const auto basis = static_cast<int>(args.basis);
  const int plane = grid.lats * grid.lons, all = grid.latitudes * grid.longitudes;

  for (int n = block * kThreads + thread; n < channels * plane; n += blocks * kThreads) {
    const int channel = n / plane, lat = n % plane / grid.lons, lon = n % grid.lons;
    const int to = channel * all + (grid.first_lat + lat) * grid.longitudes + grid.first_lon + lon;
    const float value = __ldg(args.x + n);
    int peer = grid.rank;
    do {
      inbox.of[peer][to] = value;
      peer = peer + 1 < grid.world ? peer + 1 : 0;
    } while (peer != grid.rank);
  }
  // The last block to be ready says so to all ranks, for all blocks: barriers and the ticket put the stores of all
  // threads of all blocks before its releases. The ticket is 0 again for the next call, which the stream orders.
  __syncthreads();
  if (thread == 0) {
    const Ticket ticket(*blocks_done);
    last = ticket.fetch_add(1, cuda::memory_order_acq_rel) + 1 == gridDim.x;
    if (last) ticket.store(0, cuda::memory_order_relaxed);
  }
  __syncthreads();
  if (last && thread < grid.world) Flag(arrived.of[thread][grid.rank]).store(call, cuda::memory_order_release);

  const float* points = inbox.of[grid.rank];
  const int feature_tiles = (features + kFeatures - 1) / kFeatures, lon_tiles = (grid.lons + kLons - 1) / kLons;
  bool all_here = false;
  for (int tile = block; tile < grid.lats * lon_tiles * feature_tiles; tile += blocks) {
    const int lat = tile / feature_tiles / lon_tiles, first_lon = tile / feature_tiles % lon_tiles * kLons;
    const int first_feature = tile % feature_tiles * kFeatures,
              some_features = min(kFeatures, features - first_feature);
    float result[kLons] = {};
    for (int first_channel = 0; first_channel < channels; first_channel += kChannels) {
      for (int first_filter = 0; first_filter < basis; first_filter += kFilters) {
        const int some_channels = min(kChannels, channels - first_channel),
                  filters = min(kFilters, basis - first_filter);
        const int depth = some_channels * filters;
        for (int l = thread % kWarp; l < depth; l += kWarp) {
          const float* from = args.weight + (first_feature * channels + first_channel + l / filters) * basis +
                              first_filter + l % filters;
#pragma unroll 8
          for (int o = thread / kWarp; o < some_features; o += kThreads / kWarp)
            weights[o][l] = __ldg(from + o * channels * basis);
        }
        // A thread for each filter, longitude and kEach channels.
        const int filter = thread / kLons % filters, channel = thread / (filters * kLons) * kEach;
        const int row = first_filter * grid.latitudes + grid.first_lat + lat;  // of the first filter's list
        const int j = grid.first_lon + first_lon + thread % kLons;
        const float* from[kEach];  // the last channel in place of those behind it
#pragma unroll
        for (int k = 0; k < kEach; ++k) from[k] = points + min(first_channel + channel + k, channels - 1) * all;
        int longest = 0;
        for (int f = 0; f < filters; ++f) {
          const int* start = args.start + row + f * grid.latitudes;
          longest = max(longest, __ldg(start + 1) - __ldg(start));
        }
        float sum[kEach] = {};
        int first_tap = 0;
        do {
          if (thread < filters * kTaps) {
            const int* start = args.start + row + thread / kTaps * grid.latitudes;
            const int t = __ldg(start) + first_tap + thread % kTaps;
            if (t < __ldg(start + 1)) {
              const int longitude = __ldg(args.tap_lon + t);
              taps[thread / kTaps][thread % kTaps] = {__ldg(args.tap_lat + t) * grid.longitudes + longitude,
                                                      grid.longitudes - longitude, __ldg(args.tap + t)};
            }
          }
          if (!all_here) {  // waited for in any case, also where all lists are empty: see above
            all_here = true;
            if (thread < grid.world) {
              const Flag flag(arrived.of[grid.rank][thread]);
              while (flag.load(cuda::memory_order_acquire) < call) {
              }
            }
          }
          __syncthreads();  // what these threads have acquired all may read
          const int* start = args.start + row + filter * grid.latitudes;
          const int count = min(kTaps, __ldg(start + 1) - __ldg(start) - first_tap);
          if (first_lon + thread % kLons < grid.lons && channel < some_channels) {
#pragma unroll 4
            for (int t = 0; t < count; ++t) {
              const Tap tap = taps[filter][t];
              const int point = tap.point + (j < tap.wraps ? j : j - grid.longitudes);
#pragma unroll
              for (int k = 0; k < kEach; ++k) sum[k] += tap.number * from[k][point];
            }
          }
          __syncthreads();
          first_tap += kTaps;
        } while (first_tap < longest);
#pragma unroll
        for (int k = 0; k < kEach; ++k) {
          if (channel + k < some_channels) sums[(channel + k) * filters + filter][thread % kLons] = sum[k];
        }
        __syncthreads();
        // Four threads share a feature: each takes one of four sums, at all longitudes of the tile.
        const int o = thread / kLons;
        if (o < some_features) {
          for (int l = thread % kLons; l < depth; l += kLons) {
            const float weight = weights[o][l];
            const float4 sum = *reinterpret_cast<const float4*>(sums[l]);
            result[0] += weight * sum.x;
            result[1] += weight * sum.y;
            result[2] += weight * sum.z;
            result[3] += weight * sum.w;
          }
        }
        __syncthreads();
      }
    }
    // Thread i of the four keeps the sum of all four for longitude i.
    float own = 0;
#pragma unroll
    for (int k = 0; k < kLons; ++k) {
      float sum = result[k] + __shfl_xor_sync(~0u, result[k], 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      if (thread % kLons == k) own = sum;
    }
    const int feature = first_feature + thread / kLons, lon = first_lon + thread % kLons;
    if (feature < features && lon < grid.lons)
      args.out[feature * plane + lat * grid.lons + lon] = own + __ldg(args.bias + feature);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : inbox_bytes_(static_cast<size_t>(args.channels * args.lats * args.lons * rank.world()) * sizeof(float)),
        inboxes_(rank, 2 * inbox_bytes_),
        flags_(rank, static_cast<size_t>(rank.world()) * sizeof(uint32_t)) {
    const auto azimuth = static_cast<int>(args.azimuth), lats = static_cast<int>(args.lats);
    const auto lons = static_cast<int>(args.lons);
    const int a = rank.rank() % azimuth, q = rank.rank() / azimuth;
    grid_ = {rank.rank(), rank.world(), lats, lons, rank.world() / azimuth * lats, azimuth * lons, q * lats, a * lons};
    fabricbench::check_cuda(cudaMalloc(&blocks_done_, sizeof(uint32_t)), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(blocks_done_, 0, sizeof(uint32_t)), "cudaMemset");
  }
  ~Solution() { cudaFree(blocks_done_); }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    const int64_t tiles = args.lats * ((args.lons + kLons - 1) / kLons) * ((args.features + kFeatures - 1) / kFeatures);
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, tiles));
    convolve<<<blocks, kThreads, 0, stream>>>(args, grid_, inboxes_.peers<float>(call_ % 2 * inbox_bytes_),
                                              flags_.peers<uint32_t>(), blocks_done_, call_);
  }

 private:
  Grid grid_ = {};
  uint32_t call_ = 0;
  size_t inbox_bytes_;
  fabricbench::PeerMemory inboxes_, flags_;  // begin as zeros
  uint32_t* blocks_done_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the convolution
//|   }
//| };
// [/solution]
