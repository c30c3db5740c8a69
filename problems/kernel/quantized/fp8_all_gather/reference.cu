#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kMostWorld = 8;
constexpr int kWarp = 32, kWarps = 4, kThreads = kWarp * kWarps;
constexpr int kMostBlocks = 128;     // all resident at once: they wait for their peers
constexpr int kLanes = 8;            // deal with a block of 128, 16 numbers each: a lane's codes are 16 bytes
constexpr int kRounds = 2;           // of a warp, for a strip
constexpr int kStrip = kRounds * 4;  // blocks of a strip: their scales fill a sector of 32 bytes

// One word per thread block and peer, written by that peer only: the last point that it has come to.
struct Flags {
  uint32_t from[kMostBlocks][kMostWorld];
};

// Block b of this rank and blocks b of all other ranks.
struct Team {
  Peers<Flags> flags;
  int rank, world;

  // All others may know that this thread has come here. The fence, at system scope, orders what it did, and what it has
  // seen of other threads behind a barrier of the block, before the flag.
  __device__ void announce(uint32_t epoch) const {
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    if (const auto r = static_cast<int>(threadIdx.x); r < world) {
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
      Flag(flags.of[r]->from[blockIdx.x][rank]).store(epoch, cuda::memory_order_relaxed);
    }
  }
  // All others have come to this point. The acquire and the barrier order what follows in all threads behind that.
  __device__ void await(uint32_t epoch) const {
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    if (const auto r = static_cast<int>(threadIdx.x); r < world) {
      while (Flag(flags.of[rank]->from[blockIdx.x][r]).load(cuda::memory_order_acquire) < epoch) {
      }
    }
    __syncthreads();
  }
};

// Sixteen numbers.
struct Piece {
  int4 quad[2];
};

__device__ const __nv_bfloat162& pair_of(const Piece& piece, int k) {
  return reinterpret_cast<const __nv_bfloat162*>(piece.quad)[k];
}

// The scale of a block, of which each of eight lanes has a piece.
__device__ float scale_of(const Piece& piece) {
  __nv_bfloat162 most = __habs2(pair_of(piece, 0));
#pragma unroll
  for (int k = 1; k < 8; ++k) most = __hmax2(most, __habs2(pair_of(piece, k)));
  for (int step = kLanes / 2; step > 0; step /= 2) most = __hmax2(most, __shfl_xor_sync(~0u, most, step));
  const float2 both = __bfloat1622float2(most);
  return fmaxf(both.x, both.y) / 448.0F;
}

__device__ uint4 codes_of(const Piece& piece, float scale) {
  const float divisor = scale > 0 ? scale : 1;
  uint32_t word[4] = {};
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    float2 v = __bfloat1622float2(pair_of(piece, k));
    v = make_float2(v.x / divisor, v.y / divisor);
    word[k / 2] |= uint32_t{__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, __NV_E4M3)} << (k % 2 * 16);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

// Every rank quantises its rows in registers and stores codes and scales straight into the outputs of all ranks:
// nothing is written before it is sent, and nothing is copied afterwards. Rows lie behind one another, and so do the
// blocks of a rank: a warp takes a strip of eight. The first strip is quantised while the peers' permission is on its
// way.
__global__ void __launch_bounds__(kThreads) quantise_and_push(Team team, const int4* x, Peers<uint4> codes,
                                                              Peers<float> scales, int64_t blocks, uint32_t call) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  team.announce(2 * call - 1);  // my outputs may be written: the stream is done with those of the call before

  for (int64_t first = int64_t{blockIdx.x} * kWarps; first * kStrip < blocks; first += int64_t{gridDim.x} * kWarps) {
    const int64_t begin = (first + warp) * kStrip;  // a block
    uint4 bytes[kRounds];
    float scale[kRounds];
    Piece pieces[kRounds];
#pragma unroll
    for (int k = 0; k < kRounds; ++k) {
      const int64_t piece = begin * kLanes + k * kWarp + lane;
      pieces[k] = {};
      if (piece < blocks * kLanes) pieces[k] = {__ldg(x + 2 * piece), __ldg(x + 2 * piece + 1)};
    }
#pragma unroll
    for (int k = 0; k < kRounds; ++k) {
      scale[k] = scale_of(pieces[k]);
      bytes[k] = codes_of(pieces[k], scale[k]);
    }
    // Lane i stores the scale of block i, which lanes 8 i, … have: the first four in the first round.
    const float early = __shfl_sync(~0u, scale[0], lane % 4 * kLanes);
    const float late = __shfl_sync(~0u, scale[1], lane % 4 * kLanes);

    if (first == int64_t{blockIdx.x} * kWarps) team.await(2 * call - 1);  // all outputs may be written

    for (int step = 1; step <= team.world; ++step) {
      // Ranks begin with different peers, so that not all of them store to rank 0 first.
      const int peer = (team.rank + step) % team.world;
#pragma unroll
      for (int k = 0; k < kRounds; ++k) {
        const int64_t piece = begin * kLanes + k * kWarp + lane;
        if (piece < blocks * kLanes) codes.of[peer][team.rank * blocks * kLanes + piece] = bytes[k];
      }
      if (lane < kStrip && begin + lane < blocks)
        scales.of[peer][team.rank * blocks + begin + lane] = lane < 4 ? early : late;
    }
  }

  __syncthreads();  // the stores of all threads come before the flags
  team.announce(2 * call);
  team.await(2 * call);  // what other ranks' blocks of this number have sent is here
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        codes_(rank, args.codes),
        scales_(rank, args.scales) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t blocks = args.rows * args.hidden / 128, tasks = (blocks + kStrip * kWarps - 1) / (kStrip * kWarps);
    const auto grid = static_cast<int>(std::min<int64_t>(kMostBlocks, tasks));
    quantise_and_push<<<grid, kThreads, 0, stream>>>({flags_.peers<Flags>(), rank_, world_},
                                                     reinterpret_cast<const int4*>(args.x), codes_.peers<uint4>(),
                                                     scales_.peers<float>(), blocks, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, codes_, scales_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-gather
//|   }
//| };
// [/solution]
