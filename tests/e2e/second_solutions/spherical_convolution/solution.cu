// Points are exchanged, not sums: a kernel stores this rank's `x` into a buffer of every rank, with a flag from its
// last block; a second one waits for all flags and convolves at this rank's points, and cuBLAS mixes channels and
// filters.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cublas_v2.h>

#include <algorithm>
#include <stdexcept>

constexpr int kThreads = 256;

struct Flags {
  uint32_t stored[8];  // the last call whose points each rank has stored here
  uint32_t blocks;     // of send, that have stored theirs, of all calls
};

using SystemFlag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// grids: [world][channels][lats][lons] of every rank, one of its two sets
__global__ void send(const float* x, int64_t points, fabricbench::Peers<float> grids, fabricbench::Peers<Flags> flags,
                     int rank, int world, uint32_t call) {
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + thread; i < points; i += stride) {
    const float value = x[i];
    for (int step = 0; step < world; ++step) grids.of[(rank + step) % world][rank * points + i] = value;
  }
  // The last block of this GPU: __syncthreads and the counter (acquire and release, at device scope) put the stores of
  // all blocks before its flags, whose release at system scope carries them to the peers. It also carries the reads of
  // the calls before: that is why two sets are enough, and nothing has to wait at the end of a call.
  __shared__ bool last;
  __syncthreads();  // all threads of the block have stored
  if (thread == 0) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> blocks(flags.of[rank]->blocks);
    last = blocks.fetch_add(1, cuda::memory_order_acq_rel) + 1 == call * gridDim.x;
  }
  __syncthreads();
  if (last && thread < world) {
    SystemFlag(flags.of[thread]->stored[rank]).store(call, cuda::memory_order_release);
  }
}

// y: [channels * basis][lats][lons]. A block has one filter at one latitude, and some pairs of channel and longitude.
__global__ void convolve(Args args, const float* grids, Flags* flags, float* y, int rank, int world, uint32_t call) {
  // Acquire, in each block: points of all ranks are there, as lists have points of all latitudes. A flag may be beyond
  // this call: its rank may have begun the next one, with the other set.
  if (static_cast<int>(threadIdx.x) < world) {
    SystemFlag flag(flags->stored[threadIdx.x]);
    while (static_cast<int32_t>(flag.load(cuda::memory_order_acquire) - call) < 0) {
    }
  }
  __syncthreads();

  const int lats = static_cast<int>(args.lats);
  const int lons = static_cast<int>(args.lons);
  const int azimuth = static_cast<int>(args.azimuth);
  const int latitudes = world / azimuth * lats;
  const int longitudes = azimuth * lons;
  const int k = static_cast<int>(blockIdx.x) / lats;
  const int i = static_cast<int>(blockIdx.x) % lats;
  const int list = k * latitudes + rank / azimuth * lats + i;
  const int begin = args.start[list];
  const int end = args.start[list + 1];
  const int64_t pairs = args.channels * lons;
  for (int64_t pair = int64_t{blockIdx.y} * kThreads + threadIdx.x; pair < pairs;
       pair += int64_t{gridDim.y} * kThreads) {
    const int64_t c = pair / lons;
    const int j = static_cast<int>(pair % lons);
    const int east = rank % azimuth * lons + j;
    float sum = 0;
    for (int n = begin; n < end; ++n) {
      const int lat = args.tap_lat[n];
      int lon = args.tap_lon[n] + east;
      if (lon >= longitudes) lon -= longitudes;
      const int64_t owner = lat / lats * azimuth + lon / lons;
      sum += args.tap[n] * grids[((owner * args.channels + c) * lats + lat % lats) * lons + lon % lons];
    }
    y[((c * args.basis + k) * lats + i) * lons + j] = sum;
  }
  // The product is added to this.
  if (k == 0 && blockIdx.y == 0) {
    for (int64_t at = threadIdx.x; at < args.features * lons; at += kThreads) {
      const int64_t o = at / lons;
      args.out[(o * lats + i) * lons + at % lons] = args.bias[o];
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        points_(args.channels * args.lats * args.lons),
        grids_(rank, 2 * sizeof(float) * static_cast<size_t>(rank.world() * points_)),
        flags_(rank, sizeof(Flags)) {
    check(cublasCreate(&cublas_));
    fabricbench::check_cuda(cudaMalloc(&y_, sizeof(float) * static_cast<size_t>(points_ * args.basis)), "cudaMalloc");
  }
  ~Solution() {
    cudaFree(y_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    // Two sets, in turn: to store points of the call behind the next one, a rank must have seen this rank's points of
    // the next one, which are stored behind its last read of this one's.
    const size_t set = sizeof(float) * static_cast<size_t>(call_ % 2 * world_ * points_);
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(132, (points_ + kThreads - 1) / kThreads));
    send<<<blocks, kThreads, 0, stream>>>(args.x, points_, grids_.peers<float>(set), flags_.peers<Flags>(), rank_,
                                          world_, call_);
    const auto groups = static_cast<unsigned>((args.channels * args.lons + kThreads - 1) / kThreads);
    const dim3 grid(static_cast<unsigned>(args.basis * args.lats), std::min(groups, 65535u));
    convolve<<<grid, kThreads, 0, stream>>>(args, grids_.mine<float>(set), flags_.mine<Flags>(), y_, rank_, world_,
                                            call_);
    // out[o][p] += weight[o][ck] * y[ck][p]; cuBLAS has columns first, so that all three are transposed.
    const int pixels = static_cast<int>(args.lats * args.lons);
    const int inner = static_cast<int>(args.channels * args.basis);
    const float one = 1;
    check(cublasSetStream(cublas_, stream));
    check(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, pixels, static_cast<int>(args.features), inner, &one, y_,
                      pixels, args.weight, inner, &one, args.out, pixels));
  }

 private:
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
  }

  int rank_;
  int world_;
  int64_t points_;  // of a rank, all channels
  fabricbench::PeerMemory grids_;
  fabricbench::PeerMemory flags_;
  cublasHandle_t cublas_ = nullptr;
  float* y_ = nullptr;
  uint32_t call_ = 0;
};
// [/solution]
