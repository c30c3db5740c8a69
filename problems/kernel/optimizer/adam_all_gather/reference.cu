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

constexpr int kThreads = 256;
constexpr int kBlocks = 96;  // all resident at once: they wait for their peers
constexpr float kBeta1 = 0.9F, kBeta2 = 0.95F, kEpsilon = 1e-8F;

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][fabricbench::kMostRanks];  // the peer has begun the call: its `params` may be written
  uint32_t done[kBlocks][fabricbench::kMostRanks];   // the peer's block of this number has written its parameters
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

// Four neighbouring parameters are a quad: 16 bytes in float, so that a warp reads and writes whole sectors, and 8
// bytes rounded.
struct Shard {
  const uint2* grad;
  const float4 *master, *m, *v;
  float4 *master_out, *m_out, *v_out;

  // Returns the new parameters, rounded.
  __device__ uint2 update(int64_t quad, Factors by) const {
    const uint2 gradients = __ldg(grad + quad);
    float4 w4 = __ldg(master + quad), m4 = __ldg(m + quad), v4 = __ldg(v + quad);
    const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&gradients);
    const float2 low = __bfloat1622float2(pairs[0]), high = __bfloat1622float2(pairs[1]);
    adam(by, low.x, m4.x, v4.x, w4.x);
    adam(by, low.y, m4.y, v4.y, w4.y);
    adam(by, high.x, m4.z, v4.z, w4.z);
    adam(by, high.y, m4.w, v4.w, w4.w);
    master_out[quad] = w4;
    m_out[quad] = m4;
    v_out[quad] = v4;
    const __nv_bfloat162 rounded[] = {__floats2bfloat162_rn(w4.x, w4.y), __floats2bfloat162_rn(w4.z, w4.w)};
    return *reinterpret_cast<const uint2*>(rounded);
  }
};

// Each block updates its parameters and stores them straight to all ranks: what a thread has computed crosses the links
// while others still load. A parameter is never read again. Blocks of one number, on all ranks, have the same
// parameters of their shards and wait for each other alone.
__global__ void __launch_bounds__(kThreads)
    step_and_send(Peers<Flags> flags, Shard shard, const int* step, const float* lr, Peers<uint2> params, int64_t quads,
                  int rank, int world, uint32_t call) {
  __shared__ Factors by;
  const auto thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);

  // The release is there for what the stream did to `params` before this kernel: it comes before the peers' stores.
  if (thread < world) Flag(flags.of[thread]->ready[block][rank]).store(call, cuda::memory_order_release);
  if (thread == 0) by = factors_of(*lr, *step);  // powers are dear: once for a block
  __syncthreads();

  bool permitted = false;
  for (int64_t first = int64_t{block} * kThreads; first < quads; first += int64_t{gridDim.x} * kThreads) {
    const int64_t quad = first + thread;
    uint2 rounded = {};
    if (quad < quads) rounded = shard.update(quad, by);
    // The first update hides the wait: peers that run as fast as this rank have posted long before. What one thread
    // acquires of a peer, the barrier hands on to the block.
    if (!permitted) {
      if (thread < world) {
        while (Flag(flags.of[rank]->ready[block][thread]).load(cuda::memory_order_acquire) < call) {
        }
      }
      __syncthreads();
      permitted = true;
    }
    if (quad < quads) {
      int peer = rank;  // ranks begin with themselves, so that not all of them store to rank 0 first
      do {
        params.of[peer][rank * quads + quad] = rounded;
        peer = peer + 1 < world ? peer + 1 : 0;
      } while (peer != rank);
    }
  }

  __syncthreads();  // orders the stores of all threads before the releases
  if (thread < world) {
    Flag(flags.of[thread]->done[block][rank]).store(call, cuda::memory_order_release);
    while (Flag(flags.of[rank]->done[block][thread]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(Flags)), params_(rank, args.params) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto in = [](const float* p) { return reinterpret_cast<const float4*>(p); };
    const auto out = [](float* p) { return reinterpret_cast<float4*>(p); };
    const Shard shard = {reinterpret_cast<const uint2*>(args.grad),
                         in(args.master),
                         in(args.m),
                         in(args.v),
                         out(args.master_out),
                         out(args.m_out),
                         out(args.v_out)};
    const int64_t quads = args.n / 4;
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, (quads + kThreads - 1) / kThreads));
    step_and_send<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), shard, args.step, args.lr,
                                                   params_.peers<uint2>(), quads, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, params_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the step and the all-gather
//|   }
//| };
// [/solution]
