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
#include <fabricbench/rank_barrier.h>

// Each row has an owner, which adds it up from all ranks, normalises it, and stores both results into all ranks. The
// sum exists once, so all ranks get the same bits. A rank loads 1 / world of the rows from each peer and receives twice
// as much from it; if every rank did every row, it would load all rows from each peer.
//
// A cluster of blocks does a row, since one multiprocessor alone can't have enough bytes under way. Each thread has
// eight neighbouring elements of the row and keeps them in registers between sum and norm.
using fabricbench::Peers;
using fabricbench::rank_barrier;
namespace cg = cooperative_groups;

constexpr int kCluster = 4, kMostThreads = 256;
// All resident at once: they wait for their peers. Eight clusters already keep the links two thirds busy: a row of 8192
// is 0.3 MB that come over them, from loads of x and as results of other ranks, longer than one row takes from the
// first load to the last store. Thirty-two keep them four fifths busy where there are hundreds of rows.
constexpr int kClusters = 8, kBlocks = kClusters * kCluster;
constexpr int kMostHidden = 8 * kCluster * kMostThreads;
constexpr float kEpsilon = 1e-5f;

// One word per block and peer, written by that peer only.
struct Flags {
  uint32_t from[kBlocks][fabricbench::kMostRanks];
};

__device__ float sum_of_warp(float value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffff, value, lanes);
  return value;
}

// The sum over all threads of the cluster, for each of them. Each warp writes its sum into the shared memory of every
// block; then there is at most one number for each lane of a warp.
__device__ float sum_of_cluster(float value) {
  static_assert(kCluster * kMostThreads / 32 <= 32);
  __shared__ float of_warp[32];
  const int warps = static_cast<int>(blockDim.x) / 32;  // of a block
  const cg::cluster_group cluster = cg::this_cluster();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  value = sum_of_warp(value);
  cluster.sync();  // all blocks have begun, and no block still reads the sums of the row before
  if (lane < kCluster) *cluster.map_shared_rank(&of_warp[cluster.block_rank() * warps + warp], lane) = value;
  cluster.sync();
  return sum_of_warp(lane < kCluster * warps ? of_warp[lane] : 0);
}

// Eight bf16 move by one access of 16 bytes. A bf16 is the upper half of a float.
__device__ void unpack(uint4 pack, float (&values)[8]) {
  const uint32_t words[4] = {pack.x, pack.y, pack.z, pack.w};
  for (int k = 0; k < 4; ++k) {
    values[2 * k] = __uint_as_float(words[k] << 16);
    values[2 * k + 1] = __uint_as_float(words[k] & 0xffff0000);
  }
}

__device__ uint4 pack(const float (&values)[8]) {
  uint32_t words[4];
  for (int k = 0; k < 4; ++k) {
    const uint32_t low = __bfloat16_as_ushort(__float2bfloat16_rn(values[2 * k]));
    const uint32_t high = __bfloat16_as_ushort(__float2bfloat16_rn(values[2 * k + 1]));
    words[k] = high << 16 | low;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Of this rank's own memory, which no thread writes meanwhile.
__device__ void load_eight(const __nv_bfloat16* from, float (&values)[8]) {
  if (reinterpret_cast<uintptr_t>(from) % sizeof(uint4) == 0) {
    unpack(__ldg(reinterpret_cast<const uint4*>(from)), values);
  } else {
    for (int k = 0; k < 8; ++k) values[k] = __bfloat162float(from[k]);
  }
}

// The tensors of all ranks that others touch.
struct Shared {
  Peers<Flags> flags;
  Peers<const __nv_bfloat16> x;
  Peers<__nv_bfloat16> y, residual_out;
};

__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kMostThreads)
    add_and_normalise(Shared shared, const __nv_bfloat16* residual, const __nv_bfloat16* weight, int64_t tokens,
                      int hidden, int rank, int world, uint32_t epoch) {
  rank_barrier(shared.flags, rank, world, 2 * epoch - 1);  // every rank's x is there, and its outputs may be written

  const int thread = static_cast<int>(cg::this_cluster().thread_rank());
  const int cluster = static_cast<int>(blockIdx.x) / kCluster, clusters = static_cast<int>(gridDim.x) / kCluster;
  for (int64_t token = rank + int64_t{cluster} * world; token < tokens; token += int64_t{clusters} * world) {
    // The row begins at the same place in all tensors of its shape, not always at a multiple of 16 bytes: `head`
    // elements come before the packs of eight, and at most seven behind them. These edges are for the first threads,
    // one each.
    const int64_t row = token * hidden;
    const int head = min(hidden, static_cast<int>(-row & 7)), packs = (hidden - head) / 8;
    const bool has_pack = thread < packs, has_edge = thread < hidden - 8 * packs;
    const int pack_column = head + 8 * thread, edge_column = thread < head ? thread : thread + 8 * packs;

    float squares = 0;
    uint4 sums = {};
    __nv_bfloat16 edge = 0.0f;
    if (has_pack) {
      const int64_t at = row + pack_column;
      float values[8];
      load_eight(residual + at, values);
      // Unrolled, so that several loads are under way before the first is needed. Not through the read-only cache: the
      // peer may have got its x after this kernel began.
#pragma unroll 4
      for (int step = 0; step < world; ++step) {
        const int peer = rank + step < world ? rank + step : rank + step - world;
        float part[8];
        unpack(*reinterpret_cast<const uint4*>(shared.x.of[peer] + at), part);
        for (int k = 0; k < 8; ++k) values[k] += part[k];
      }
      sums = pack(values);
      unpack(sums, values);  // rounded
      for (int k = 0; k < 8; ++k) squares += values[k] * values[k];
    }
    if (has_edge) {
      const int64_t at = row + edge_column;
      float sum = __bfloat162float(residual[at]);
      for (int peer = 0; peer < world; ++peer) sum += __bfloat162float(shared.x.of[peer][at]);
      edge = __float2bfloat16_rn(sum);
      squares += __bfloat162float(edge) * __bfloat162float(edge);
    }

    const float scale = rsqrtf(sum_of_cluster(squares) / static_cast<float>(hidden) + kEpsilon);

    if (has_pack) {
      float values[8], weights[8];
      unpack(sums, values);
      load_eight(weight + pack_column, weights);
      for (int k = 0; k < 8; ++k) values[k] *= scale * weights[k];
      const uint4 normalised = pack(values);
      for (int step = 0; step < world; ++step) {
        const int peer = rank + step < world ? rank + step : rank + step - world;
        *reinterpret_cast<uint4*>(shared.residual_out.of[peer] + row + pack_column) = sums;
        *reinterpret_cast<uint4*>(shared.y.of[peer] + row + pack_column) = normalised;
      }
    }
    if (has_edge) {
      const __nv_bfloat16 normalised =
          __float2bfloat16_rn(__bfloat162float(edge) * (scale * __bfloat162float(weight[edge_column])));
      for (int peer = 0; peer < world; ++peer) {
        shared.residual_out.of[peer][row + edge_column] = edge;
        shared.y.of[peer][row + edge_column] = normalised;
      }
    }
  }

  rank_barrier(shared.flags, rank, world,
               2 * epoch);  // every rank's rows have arrived here, and no rank reads x any more
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        x_(rank, args.x),
        y_(rank, args.y),
        residual_out_(rank, args.residual_out) {
    if (args.hidden > kMostHidden) throw std::invalid_argument("the row is too long");
  }

  void run(const Args& args, cudaStream_t stream) {
    const Shared shared = {flags_.peers<Flags>(), x_.peers<const __nv_bfloat16>(), y_.peers<__nv_bfloat16>(),
                           residual_out_.peers<__nv_bfloat16>()};
    // The same number of blocks on all ranks, since each waits for its peers: as the rank with the most rows needs.
    const auto clusters = static_cast<int>(std::min<int64_t>(kClusters, (args.tokens + world_ - 1) / world_));
    // A thread for every eight elements of a row, in whole warps.
    const auto threads = static_cast<int>((args.hidden + 8 * kCluster * 32 - 1) / (8 * kCluster * 32) * 32);
    add_and_normalise<<<clusters * kCluster, threads, 0, stream>>>(
        shared, args.residual, args.weight, args.tokens, static_cast<int>(args.hidden), rank_, world_, ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, x_, y_, residual_out_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the kernel
//|   }
//| };
// [/solution]
