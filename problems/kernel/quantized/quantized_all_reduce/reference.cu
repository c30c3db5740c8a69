#include <cuda_bf16.h>
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
constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps;
constexpr int kMostBlocks = 128;     // all resident at once: they wait for their peers
constexpr int kQuads = 16;           // of 8 numbers, in a block of 128: half a warp deals with a block
constexpr int kStrip = 8;            // blocks that travel together: their scales fill a sector of 32 bytes
constexpr int kRounds = kStrip / 2;  // of a warp, for a strip

// What a rank sends of a strip: a byte for each number, and the scales.
struct alignas(32) Strip {
  uint2 codes[kStrip][kQuads];
  float scale[kStrip];
};

// One word per thread block and peer, written by that peer only: the last barrier that it has reached.
struct Flags {
  uint32_t from[kMostBlocks][kMostWorld];
};

struct Team {
  Peers<Flags> flags;
  int rank, world;

  // Ranks begin with different peers, so that not all of them go to rank 0 first.
  __device__ int peer(int step) const { return (rank + 1 + step) % world; }

  // A barrier of the blocks with one number on all ranks. The barrier of the block orders its threads' accesses before
  // the fence; the fence, at system scope, orders them before the flags for all peers. The acquire and the second
  // barrier order what follows behind what the peers did before they came.
  __device__ void barrier(uint32_t epoch) const {
    __syncthreads();
    if (const auto r = static_cast<int>(threadIdx.x); r < world) {
      using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
      Flag(flags.of[r]->from[blockIdx.x][rank]).store(epoch, cuda::memory_order_relaxed);
      while (Flag(flags.of[rank]->from[blockIdx.x][r]).load(cuda::memory_order_acquire) < epoch) {
      }
    }
    __syncthreads();
  }
};

// The scale of a block, of which each lane of half a warp has a quad.
__device__ float scale_of(int4 quad) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&quad);
  __nv_bfloat162 most =
      __hmax2(__hmax2(__habs2(pairs[0]), __habs2(pairs[1])), __hmax2(__habs2(pairs[2]), __habs2(pairs[3])));
  for (int step = kQuads / 2; step > 0; step /= 2) most = __hmax2(most, __shfl_xor_sync(~0u, most, step));
  const float2 both = __bfloat1622float2(most);
  return fmaxf(both.x, both.y) / 127.0F;
}

__device__ uint2 codes_of(int4 quad, float scale) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&quad);
  const float divisor = scale > 0 ? scale : 1;
  uint32_t word[2] = {};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    const uint32_t low = __float2int_rn(v.x / divisor) & 0xff, high = __float2int_rn(v.y / divisor) & 0xff;
    word[k / 2] |= (low | high << 8) << (k % 2 * 16);
  }
  return make_uint2(word[0], word[1]);
}

// A warp quantises a strip and stores it where it is to be added up. All loads are under way before the first is used.
__device__ void send(const int4* grad, int64_t first, int64_t blocks, Strip& to) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, half = lane / kQuads, quad = lane % kQuads;
  int4 values[kRounds];
#pragma unroll
  for (int k = 0; k < kRounds; ++k) {
    const int64_t block = first + 2 * k + half;
    values[k] = block < blocks ? __ldg(grad + block * kQuads + quad) : int4{};  // the last strip may be shorter
  }
  float scale_of_lane = 0;  // lane i stores the scale of block i
#pragma unroll
  for (int k = 0; k < kRounds; ++k) {
    const float scale = scale_of(values[k]);
    to.codes[2 * k + half][quad] = codes_of(values[k], scale);
    const float other = __shfl_sync(~0u, scale, lane % 2 * kQuads);
    if (lane / 2 == k) scale_of_lane = other;
  }
  if (lane < kStrip) to.scale[lane] = scale_of_lane;
}

// Strips are dealt out: `share` of them to each rank, which adds them up. Block b of every rank deals with the strips
// b, b + gridDim.x, … of every share. So what block b adds up comes from the blocks b of its peers, and no block waits
// for a whole rank.
//
// The inbox of a rank is [sender][strip of its share]. Block b writes it in call e without permission: its owner's
// block b had read what it held before the barrier at the end of call e - 1.
__global__ void __launch_bounds__(kThreads)
    all_reduce(Team team, Peers<Strip> inbox, const int4* grad, Peers<__nv_bfloat16> mean, int64_t blocks,
               int64_t share, uint32_t call) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int step = warp; step < team.world; step += kWarps) {
    const int peer = team.peer(step);
    for (int64_t s = blockIdx.x; s < share; s += gridDim.x) {
      const int64_t first = (peer * share + s) * kStrip;
      if (first < blocks) send(grad, first, blocks, inbox.of[peer][team.rank * share + s]);
    }
  }

  // My strips have come from all ranks. All of them have begun this call, so that their `mean` may be written.
  team.barrier(2 * call - 1);

  const float factor = 1.0F / static_cast<float>(team.world);
  for (int64_t s = blockIdx.x; s < share; s += gridDim.x) {
    const int64_t block = (team.rank * share + s) * kStrip + warp;  // a warp adds up a block, four numbers a lane
    if (block >= blocks) break;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (int r = 0; r < team.world; ++r) {
      const Strip& part = inbox.of[team.rank][r * share + s];
      const char4 codes = reinterpret_cast<const char4*>(part.codes[warp])[lane];
      const float scale = part.scale[warp];
      sum.x += static_cast<float>(codes.x) * scale;
      sum.y += static_cast<float>(codes.y) * scale;
      sum.z += static_cast<float>(codes.z) * scale;
      sum.w += static_cast<float>(codes.w) * scale;
    }
    const __nv_bfloat162 pairs[2] = {__floats2bfloat162_rn(sum.x * factor, sum.y * factor),
                                     __floats2bfloat162_rn(sum.z * factor, sum.w * factor)};
    const uint2 result = *reinterpret_cast<const uint2*>(pairs);
    for (int step = 0; step < team.world; ++step)
      reinterpret_cast<uint2*>(mean.of[team.peer(step)])[block * kWarp + lane] = result;
  }

  team.barrier(2 * call);  // all means have come here, and mine have come to all
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        share_((args.n / 128 + kStrip * world_ - 1) / (kStrip * world_)),
        flags_(rank, sizeof(Flags)),
        inbox_(rank, static_cast<size_t>(world_ * share_) * sizeof(Strip)),
        means_(rank, args.mean) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kMostBlocks, share_));
    all_reduce<<<blocks, kThreads, 0, stream>>>({flags_.peers<Flags>(), rank_, world_}, inbox_.peers<Strip>(),
                                                reinterpret_cast<const int4*>(args.grad), means_.peers<__nv_bfloat16>(),
                                                args.n / 128, share_, ++call_);
  }

 private:
  int rank_, world_;
  int64_t share_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, inbox_, means_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-reduce
//|   }
//| };
// [/solution]
