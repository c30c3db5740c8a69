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

constexpr int kWarp = 32, kThreads = 128;
constexpr int kBlocks = 64;  // all resident at once: they wait for their peers
constexpr int kMostWorld = 8;
static_assert(kBlocks <= kThreads);
constexpr float kBeta1 = 0.9F, kBeta2 = 0.95F, kEpsilon = 1e-8F;

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t sent[kBlocks][kMostWorld];  // the peer's block of this number has sent its gradients
  uint32_t done[kBlocks][kMostWorld];  // the peer's block of this number has written its averages and parameters
  uint64_t squares[kMostWorld];        // of the averages of the peer's shard
};

// What the blocks of one rank tell each other.
struct Tally {
  float squares[kBlocks];
  uint32_t blocks;  // that have written theirs, over all calls
};

// A number on its way to another rank: the call's number in the upper half says that the lower one is there. Both are
// one value, so that nothing has to be ordered, and relaxed accesses are enough.
__device__ void send(uint64_t& word, float value, uint32_t call) {
  cuda::atomic_ref<uint64_t, cuda::thread_scope_system>(word).store(uint64_t{call} << 32 | __float_as_uint(value),
                                                                    cuda::memory_order_relaxed);
}
__device__ float receive(uint64_t& word, uint32_t call) {
  uint64_t bits;
  do {
    bits = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>(word).load(cuda::memory_order_relaxed);
  } while (bits >> 32 != call);
  return __uint_as_float(static_cast<uint32_t>(bits));
}

// For thread 0.
__device__ float sum_of_block(float value) {
  __shared__ float of_warp[kThreads / kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = 0;
  for (const float part : of_warp) value += part;
  return value;
}

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

__device__ uint2 rounded(float4 values) {
  const __nv_bfloat162 pairs[] = {__floats2bfloat162_rn(values.x, values.y), __floats2bfloat162_rn(values.z, values.w)};
  return *reinterpret_cast<const uint2*>(pairs);
}

// Stores a quad of this rank's shard to all ranks, this one first, so that not all of them store to rank 0 at once.
__device__ void store_to_all(const Peers<uint2>& to, int64_t at, uint2 quad, int rank, int world) {
  int peer = rank;
  do {
    to.of[peer][at] = quad;
    peer = peer + 1 < world ? peer + 1 : 0;
  } while (peer != rank);
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
    return rounded(w4);
  }
};

// A step with three trips over the links: gradients to the owners of their parameters; averages to all, and the sum of
// their squares; parameters to all. Blocks of one number, on all ranks, have the same parameters of all shards. They
// wait for each other, and all of them for the norm.
//
// No permission is asked for. `slots`, [sender][quad] on each rank, may be written as soon as a call begins: the call
// before has ended here when every block of every peer had posted `done`, and that is behind its loads from its slots
// and of the squares. Outputs of a peer may be written when its gradients are here: it has begun the call.
__global__ void __launch_bounds__(kThreads)
    step_of_all(Peers<Flags> flags, Tally* tally, Peers<uint2> slots, Peers<uint2> grad_out, Peers<uint2> params,
                Shard shard, Args args, int rank, int world, uint32_t call) {
  __shared__ Factors by;
  __shared__ bool last;
  __shared__ float squares_of[kMostWorld], squares_here;
  const auto thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const auto blocks = static_cast<int>(gridDim.x);
  const int64_t first = int64_t{block} * kThreads + thread, threads = int64_t{blocks} * kThreads, quads = args.n / 4;
  const auto* grad = reinterpret_cast<const uint2*>(args.grad);

  for (int64_t quad = first; quad < quads; quad += threads) {
    int peer = rank + 1 < world ? rank + 1 : 0;
    do {
      slots.of[peer][rank * quads + quad] = __ldg(grad + peer * quads + quad);
      peer = peer + 1 < world ? peer + 1 : 0;
    } while (peer != rank);
  }
  __syncthreads();  // orders the stores of all threads before the releases
  // The release is also there for what the stream did to the outputs before this kernel.
  if (thread < world) {
    Flag(flags.of[thread]->sent[block][rank]).store(call, cuda::memory_order_release);
    if (thread == 0)
      by = factors_of(*args.lr, *args.step);  // powers are dear: once for a block, while gradients travel
    while (Flag(flags.of[rank]->sent[block][thread]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();  // hands on to the block what its threads have acquired

  const float share = 1 / static_cast<float>(world);
  float squares = 0;
  for (int64_t quad = first; quad < quads; quad += threads) {
    // Unrolled, so that the loads of all ranks' gradients are under way at once.
    float4 mean = {};
#pragma unroll 8
    for (int r = 0; r < world; ++r) add(mean, r == rank ? grad[rank * quads + quad] : slots.of[rank][r * quads + quad]);
    mean = {mean.x * share, mean.y * share, mean.z * share, mean.w * share};
    squares += mean.x * mean.x + mean.y * mean.y + mean.z * mean.z + mean.w * mean.w;
    shard.m_out[quad] = mean;  // it waits there until the norm has come: the same thread reads it again, from a cache
    store_to_all(grad_out, rank * quads + quad, rounded(mean), rank, world);
  }

  // The last block of this rank adds up what all of them have written, and sends it: no block waits for its own rank.
  squares = sum_of_block(squares);
  if (thread == 0) {
    tally->squares[block] = squares;
    const uint32_t before =
        cuda::atomic_ref<uint32_t, cuda::thread_scope_device>(tally->blocks).fetch_add(1, cuda::memory_order_acq_rel);
    last = (before + 1) % static_cast<uint32_t>(blocks) == 0;
  }
  __syncthreads();
  if (last) {
    squares = sum_of_block(thread < blocks ? tally->squares[thread] : 0);
    if (thread == 0) squares_here = squares;
    __syncthreads();
    if (thread < world) send(flags.of[thread]->squares[rank], squares_here, call);
  }
  if (thread < world) squares_of[thread] = receive(flags.of[rank]->squares[thread], call);
  __syncthreads();
  float sum = 0;
  for (int r = 0; r < world; ++r) sum += squares_of[r];
  const float norm = sqrtf(sum), factor = fminf(1, *args.max_norm / (norm + 1e-6F));
  if (first == 0) *args.norm = norm;

  for (int64_t quad = first; quad < quads; quad += threads) {
    const float4 mean = shard.m_out[quad];
    const float4 clipped = {mean.x * factor, mean.y * factor, mean.z * factor, mean.w * factor};
    store_to_all(params, rank * quads + quad, shard.update(quad, clipped, by), rank, world);
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
        grad_out_(rank, args.grad_out),
        params_(rank, args.params) {
    fabricbench::check_cuda(cudaMalloc(&tally_, sizeof(Tally)), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(tally_, 0, sizeof(Tally)), "cudaMemset");
  }
  ~Solution() { cudaFree(tally_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto in = [](const float* p) { return reinterpret_cast<const float4*>(p); };
    const auto out = [](float* p) { return reinterpret_cast<float4*>(p); };
    const Shard shard = {in(args.master),      in(args.m),      in(args.v),
                         out(args.master_out), out(args.m_out), out(args.v_out)};
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, (args.n / 4 + kThreads - 1) / kThreads));
    step_of_all<<<blocks, kThreads, 0, stream>>>(flags_.peers<Flags>(), tally_, slots_.peers<uint2>(),
                                                 grad_out_.peers<uint2>(), params_.peers<uint2>(), shard, args, rank_,
                                                 world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, slots_, grad_out_, params_;
  Tally* tally_ = nullptr;
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
