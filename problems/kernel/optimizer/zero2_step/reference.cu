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

constexpr int kThreads = 128;
constexpr int kBlocks = 64;  // all resident at once: they wait for their peers
constexpr int kMostWorld = 8;
constexpr float kBeta1 = 0.9F, kBeta2 = 0.95F, kEpsilon = 1e-8F;

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t sent[kBlocks][kMostWorld];  // the peer's block of this number has sent its gradients
  uint32_t done[kBlocks][kMostWorld];  // the peer's block of this number has written its parameters
};

// What all parameters of a step have in common.
struct Factors {
  float rate, correction;  // lr / (1 - beta1^t), 1 / (1 - beta2^t)
};

__device__ Factors factors_of(float lr, int t) {
  return {lr / (1 - powf(kBeta1, static_cast<float>(t))), 1 / (1 - powf(kBeta2, static_cast<float>(t)))};
}

__device__ void adam(Factors by, float g, float& m, float& v, float& w) {
  m = kBeta1 * m + (1 - kBeta1) * g;
  v = kBeta2 * v + (1 - kBeta2) * g * g;
  w -= by.rate * m / (sqrtf(v * by.correction) + kEpsilon);
}

__device__ void add(float4& sum, uint2 quad) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&quad);
  const float2 low = __bfloat1622float2(pairs[0]), high = __bfloat1622float2(pairs[1]);
  sum.x += low.x;
  sum.y += low.y;
  sum.z += high.x;
  sum.w += high.y;
}

// Four neighbouring parameters are a quad: 16 bytes in float, so that a warp reads and writes whole sectors, and 8
// bytes in bf16.
struct Shard {
  const float4 *master, *m, *v;
  float4 *master_out, *m_out, *v_out;

  // Returns the new parameters, rounded.
  __device__ uint2 update(int64_t quad, float4 g, Factors by) const {
    float4 w4 = __ldg(master + quad), m4 = __ldg(m + quad), v4 = __ldg(v + quad);
    adam(by, g.x, m4.x, v4.x, w4.x);
    adam(by, g.y, m4.y, v4.y, w4.y);
    adam(by, g.z, m4.z, v4.z, w4.z);
    adam(by, g.w, m4.w, v4.w, w4.w);
    master_out[quad] = w4;
    m_out[quad] = m4;
    v_out[quad] = v4;
    const __nv_bfloat162 rounded[] = {__floats2bfloat162_rn(w4.x, w4.y), __floats2bfloat162_rn(w4.z, w4.w)};
    return *reinterpret_cast<const uint2*>(rounded);
  }
};

// A step with two trips over the links: gradients to the owners of their parameters, parameters to all. Blocks of one
// number, on all ranks, have the same parameters of all shards and wait for each other alone.
//
// No permission is asked for. `slots`, [sender][quad] on each rank, may be written as soon as a call begins: the call
// before has ended here when every block of every peer had posted `done`, and that is behind its loads from its slots.
// `params` of a peer may be written when its gradients are here: it has begun the call.
__global__ void __launch_bounds__(kThreads)
    step_of_all(Peers<Flags> flags, const uint2* grad, Peers<uint2> slots, Shard shard, const int* step,
                const float* lr, Peers<uint2> params, int64_t quads, int rank, int world, uint32_t call) {
  __shared__ Factors by;
  const auto thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int64_t first = int64_t{block} * kThreads + thread, threads = int64_t{gridDim.x} * kThreads;

  for (int64_t quad = first; quad < quads; quad += threads) {
    // Ranks begin with the one behind them, so that not all of them store to rank 0 first.
    int peer = rank + 1 < world ? rank + 1 : 0;
    do {
      slots.of[peer][rank * quads + quad] = __ldg(grad + peer * quads + quad);
      peer = peer + 1 < world ? peer + 1 : 0;
    } while (peer != rank);
  }
  __syncthreads();  // orders the stores of all threads before the releases
  // The release is also there for what the stream did to `params` before this kernel.
  if (thread < world) {
    Flag(flags.of[thread]->sent[block][rank]).store(call, cuda::memory_order_release);
    if (thread == 0) by = factors_of(*lr, *step);  // powers are dear: once for a block, while gradients travel
    while (Flag(flags.of[rank]->sent[block][thread]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();  // hands on to the block what its threads have acquired

  const float share = 1 / static_cast<float>(world);
  for (int64_t quad = first; quad < quads; quad += threads) {
    // Unrolled, so that the loads of all ranks' gradients are under way at once.
    float4 sum = {};
#pragma unroll 8
    for (int r = 0; r < world; ++r) add(sum, r == rank ? grad[rank * quads + quad] : slots.of[rank][r * quads + quad]);
    const float4 mean = {sum.x * share, sum.y * share, sum.z * share, sum.w * share};
    const uint2 rounded = shard.update(quad, mean, by);
    int peer = rank;
    do {
      params.of[peer][rank * quads + quad] = rounded;
      peer = peer + 1 < world ? peer + 1 : 0;
    } while (peer != rank);
  }
  __syncthreads();
  if (thread < world) {
    Flag(flags.of[thread]->done[block][rank]).store(call, cuda::memory_order_release);
    while (Flag(flags.of[rank]->done[block][thread]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        slots_(rank, static_cast<size_t>(rank.world() * args.n) * sizeof(__nv_bfloat16)),
        params_(rank, args.params) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto in = [](const float* p) { return reinterpret_cast<const float4*>(p); };
    const auto out = [](float* p) { return reinterpret_cast<float4*>(p); };
    const Shard shard = {in(args.master),      in(args.m),      in(args.v),
                         out(args.master_out), out(args.m_out), out(args.v_out)};
    const int64_t quads = args.n / 4;
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, (quads + kThreads - 1) / kThreads));
    step_of_all<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), reinterpret_cast<const uint2*>(args.grad),
                                                 slots_.peers<uint2>(), shard, args.step, args.lr,
                                                 params_.peers<uint2>(), quads, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, slots_, params_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the step
//|   }
//| };
// [/solution]
