#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>
#include <stdexcept>

#include "args.h"

// [solution]
// A cluster of blocks does a row of each rank: it pushes this rank's parts of the other ranks' rows to their owners,
// and then adds up, normalises and stores this rank's own row. A row is cut into pieces, one for each block of the
// cluster: one multiprocessor alone can't have enough bytes under way. Each thread has eight neighbouring elements and
// keeps their sums in registers between sum and norm.
using fabricbench::Peers;
namespace cg = cooperative_groups;

constexpr int kWarp = 32, kCluster = 4, kMostThreads = 256;
constexpr int kClusters = 64;  // all resident at once, two blocks on a multiprocessor: they wait for their peers
constexpr int kMostHidden = 8 * kCluster * kMostThreads;
constexpr int kMostRanks = 8;

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

struct Buffers {
  Peers<int4> parts;      // on each rank: [call % 2][row][sender][quads]
  Peers<uint32_t> flags;  // on each rank: [row][piece][sender], the last call of which that piece is there
};

__device__ void add_pack(float (&sum)[8], int4 pack) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&pack);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    sum[2 * k] += v.x;
    sum[2 * k + 1] += v.y;
  }
}

__device__ int4 packed(const float (&values)[8]) {
  int4 pack;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&pack);
#pragma unroll
  for (int k = 0; k < 4; ++k) pairs[k] = __floats2bfloat162_rn(values[2 * k], values[2 * k + 1]);
  return pack;
}

__device__ float sum_of_warp(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// The sum over all threads of the cluster, for each of them. Each warp writes its sum into the shared memory of every
// block; then there is at most one number for each lane of a warp.
__device__ float sum_of_cluster(float value) {
  static_assert(kCluster * kMostThreads / kWarp <= kWarp);
  __shared__ float of_warp[kWarp];
  const int warps = static_cast<int>(blockDim.x) / kWarp;  // of a block
  const cg::cluster_group cluster = cg::this_cluster();
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  value = sum_of_warp(value);
  cluster.sync();  // all blocks have begun, and no block still reads the sums of the row before
  if (lane < kCluster) *cluster.map_shared_rank(&of_warp[cluster.block_rank() * warps + warp], lane) = value;
  cluster.sync();
  return sum_of_warp(lane < kCluster * warps ? of_warp[lane] : 0);
}

// There are two sets of parts, and no barrier. In call e a rank writes over parts of call e - 2. Their owner has read
// them: before the writer's call e - 1 ended, it had received the owner's parts of call e - 1, which the owner sent in
// a kernel that its stream started after that of call e - 2. Flags only grow: a peer may be a call ahead.
__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kMostThreads, 2)
    add_and_normalise(Buffers buffers, const int4* x, const int4* residual, const int4* weight, int4* h, int4* y,
                      int64_t rows, int quads, int rank, int world, uint32_t call) {
  const int thread = static_cast<int>(threadIdx.x), piece = static_cast<int>(cg::this_cluster().block_rank());
  const int quad = static_cast<int>(cg::this_cluster().thread_rank());
  const bool active = quad < quads;
  const int64_t first = blockIdx.x / kCluster, clusters = gridDim.x / kCluster, set = (call % 2) * rows;

  // Everything is on its way before anything is waited for.
  for (int64_t t = first; t < rows; t += clusters) {
    if (active) {
      int4 part[kMostRanks];
#pragma unroll
      for (int step = 1; step < kMostRanks; ++step) {
        const int peer = rank + step < world ? rank + step : rank + step - world;  // not all to the same one at once
        if (step < world) part[step] = __ldg(x + (peer * rows + t) * quads + quad);
      }
#pragma unroll
      for (int step = 1; step < kMostRanks; ++step) {
        const int peer = rank + step < world ? rank + step : rank + step - world;
        if (step < world) buffers.parts.of[peer][((set + t) * world + rank) * quads + quad] = part[step];
      }
    }
    // The barrier puts the stores of all threads before the flags, and release makes them visible to the peer, at
    // system scope.
    __syncthreads();
    if (thread < world && thread != rank)
      Flag(buffers.flags.of[thread][(t * kCluster + piece) * world + rank]).store(call, cuda::memory_order_release);
  }

  for (int64_t t = first; t < rows; t += clusters) {
    // What comes from this rank is loaded before the wait.
    float sum[8] = {};
    int4 factors = {};
    if (active) {
      add_pack(sum, __ldg(residual + t * quads + quad));
      add_pack(sum, __ldg(x + (rank * rows + t) * quads + quad));
      factors = __ldg(weight + quad);
    }
    // A thread acquires what one peer has released, and the barrier hands it on to the block.
    if (thread < world && thread != rank) {
      const Flag flag(buffers.flags.of[rank][(t * kCluster + piece) * world + thread]);
      while (flag.load(cuda::memory_order_acquire) < call) {
      }
    }
    __syncthreads();
    float squares = 0;
    if (active) {
      int4 part[kMostRanks];
#pragma unroll
      for (int r = 0; r < kMostRanks; ++r) {
        if (r < world && r != rank) part[r] = buffers.parts.of[rank][((set + t) * world + r) * quads + quad];
      }
#pragma unroll
      for (int r = 0; r < kMostRanks; ++r) {
        if (r < world && r != rank) add_pack(sum, part[r]);
      }
#pragma unroll
      for (int k = 0; k < 8; ++k) squares += sum[k] * sum[k];
      h[t * quads + quad] = packed(sum);
    }
    const float scale = rsqrtf(sum_of_cluster(squares) / static_cast<float>(8 * quads) + 1e-5F);
    if (active) {
      float by[8] = {};
      add_pack(by, factors);
#pragma unroll
      for (int k = 0; k < 8; ++k) sum[k] *= scale * by[k];
      y[t * quads + quad] = packed(sum);
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        parts_(rank, 2 * static_cast<size_t>(args.rows * rank.world() * args.hidden) * sizeof(__nv_bfloat16)),
        flags_(rank, static_cast<size_t>(args.rows * kCluster * rank.world()) * sizeof(uint32_t)) {
    if (args.hidden > kMostHidden) throw std::invalid_argument("the row is too long");
  }

  void run(const Args& args, cudaStream_t stream) {
    const Buffers buffers = {parts_.peers<int4>(), flags_.peers<uint32_t>()};
    const auto quads = static_cast<int>(args.hidden / 8), share = kCluster * kWarp;
    const auto clusters = static_cast<int>(std::min<int64_t>(kClusters, args.rows));
    const int threads = (quads + share - 1) / share * kWarp;  // one for every eight elements, in whole warps
    add_and_normalise<<<clusters * kCluster, threads, 0, stream>>>(
        buffers, reinterpret_cast<const int4*>(args.x), reinterpret_cast<const int4*>(args.residual),
        reinterpret_cast<const int4*>(args.weight), reinterpret_cast<int4*>(args.h), reinterpret_cast<int4*>(args.y),
        args.rows, quads, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory parts_, flags_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the sums and the norm
//|   }
//| };
// [/solution]
