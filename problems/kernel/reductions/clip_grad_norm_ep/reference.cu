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

constexpr int kWarp = 32, kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kBlocks = 132;  // all resident at once: all wait for the norm
constexpr int kKept = 2;      // packs (8 numbers) that a thread keeps in registers until the norm is there
constexpr int kKinds = 2;     // of gradients

// A number on its way: the call's number in the upper half says that the lower one is there. Both are one value, so
// that nothing has to be ordered, and relaxed accesses are enough; at the scope that has both writer and reader.
template <cuda::thread_scope scope>
__device__ void send(uint64_t& slot, float value, uint32_t call) {
  cuda::atomic_ref<uint64_t, scope>(slot).store(uint64_t{call} << 32 | __float_as_uint(value),
                                                cuda::memory_order_relaxed);
}
template <cuda::thread_scope scope>
__device__ float receive(uint64_t& slot, uint32_t call) {
  uint64_t bits;
  do {
    bits = cuda::atomic_ref<uint64_t, scope>(slot).load(cuda::memory_order_relaxed);
  } while (bits >> 32 != call);
  return __uint_as_float(static_cast<uint32_t>(bits));
}

// Both kinds of gradients as one row of packs. The last pack of a kind may have fewer than eight numbers.
struct Gradients {
  const __nv_bfloat16* in[kKinds];
  __nv_bfloat16* out[kKinds];
  int64_t n[kKinds];
  float scale[kKinds];   // of the gradients
  float weight[kKinds];  // of their squares in the sum over all ranks

  // A pack, where it belongs, and how many numbers there are of its kind from there on.
  struct Pack {
    int4 bits;
    __nv_bfloat16* out;
    int64_t left;
    float scale, weight;
  };
  __device__ Pack load(int64_t p) const {
    const int64_t before = (n[0] + 7) / 8;
    const bool second = p >= before;
    if (second) p -= before;
    const __nv_bfloat16* from = (second ? in[1] : in[0]) + 8 * p;
    Pack pack = {{},
                 (second ? out[1] : out[0]) + 8 * p,
                 (second ? n[1] : n[0]) - 8 * p,
                 second ? scale[1] : scale[0],
                 second ? weight[1] : weight[0]};
    if (pack.left >= 8) {
      pack.bits = __ldg(reinterpret_cast<const int4*>(from));
    } else {  // what is missing stays zero and adds nothing
      for (int k = 0; k < pack.left; ++k) reinterpret_cast<__nv_bfloat16*>(&pack.bits)[k] = from[k];
    }
    return pack;
  }
};

__device__ float weighted_squares(const Gradients::Pack& pack) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&pack.bits);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    sum += v.x * v.x + v.y * v.y;
  }
  return pack.weight * sum;
}

__device__ void store(Gradients::Pack pack, float factor) {
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&pack.bits);
  factor *= pack.scale;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    pairs[k] = __floats2bfloat162_rn(v.x * factor, v.y * factor);
  }
  if (pack.left >= 8) {
    *reinterpret_cast<int4*>(pack.out) = pack.bits;
  } else {
    for (int k = 0; k < pack.left; ++k) pack.out[k] = reinterpret_cast<const __nv_bfloat16*>(&pack.bits)[k];
  }
}

__device__ float sum_of_warp(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// What a rank's blocks share.
struct Local {
  float of_block[kBlocks];
  uint32_t tickets;  // of the blocks that have left their sums, over all calls
  uint64_t total;    // of all ranks, with the call's number
};

// Slots [call % 2][sender] on each rank. In call e a rank writes slots that hold sums of call e - 2. The owner has read
// those: before the writer's call e - 1 ended, it had received the owner's sum of call e - 1, which the owner sent in a
// kernel that its stream started after that of call e - 2. So two sets are enough, and no barrier is needed.
__device__ float total_of(Local& local, const Peers<uint64_t>& slots, float squares, int rank, int world,
                          uint32_t call) {
  __shared__ float of_warp[kWarps];
  __shared__ float total;
  const int thread = static_cast<int>(threadIdx.x);
  squares = sum_of_warp(squares);
  if (thread % kWarp == 0) of_warp[thread / kWarp] = squares;
  __syncthreads();
  if (thread < kWarp) {
    const float of_block = sum_of_warp(thread < kWarps ? of_warp[thread] : 0);
    uint32_t ticket = 0;
    if (thread == 0) {
      // Release hands this block's sum on, at device scope, and acquire gets those of all blocks before it.
      local.of_block[blockIdx.x] = of_block;
      ticket =
          cuda::atomic_ref<uint32_t, cuda::thread_scope_device>(local.tickets).fetch_add(1, cuda::memory_order_acq_rel);
    }
    // The last block of this rank speaks with the other ranks. The shuffle alone would order nothing: __syncwarp does,
    // so that all lanes may read what lane 0 has acquired.
    ticket = __shfl_sync(~0u, ticket, 0);
    __syncwarp();
    if (ticket + 1 == call * gridDim.x) {
      float own = 0;
      for (unsigned block = thread; block < gridDim.x; block += kWarp) own += local.of_block[block];
      own = sum_of_warp(own);
      // Lane r deals with rank r: it sends the sum there and waits for that rank's.
      const int64_t set = (call % 2) * world;
      float value = thread == rank ? own : 0;
      if (thread < world && thread != rank) {
        send<cuda::thread_scope_system>(slots.of[thread][set + rank], own, call);
        value = receive<cuda::thread_scope_system>(slots.of[rank][set + thread], call);
      }
      value = sum_of_warp(value);  // lane by lane in the same way on all ranks: the same bits
      if (thread == 0) send<cuda::thread_scope_device>(local.total, value, call);
    }
    if (thread == 0) total = receive<cuda::thread_scope_device>(local.total, call);
  }
  __syncthreads();
  return total;
}

// All replicas have the same experts, so that each may count a part of their squares: then there is one sum over all
// ranks instead of two over different groups, and ranks exchange one number in one step.
__global__ void __launch_bounds__(kThreads)
    clip(Peers<uint64_t> slots, Local* local, Gradients gradients, int64_t packs, const float* max_norm,
         float* norm_out, int rank, int world, uint32_t call) {
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x, threads = int64_t{gridDim.x} * kThreads;
  const float limit = __ldg(max_norm);
  Gradients::Pack kept[kKept];
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    if (thread + k * threads < packs) kept[k] = gradients.load(thread + k * threads);
  }
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    if (thread + k * threads < packs) squares += weighted_squares(kept[k]);
  }
  for (int64_t p = thread + kKept * threads; p < packs; p += threads) squares += weighted_squares(gradients.load(p));

  const float norm = sqrtf(total_of(*local, slots, squares, rank, world, call));
  const float factor = fminf(1, limit / (norm + 1e-6F));
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    if (thread + k * threads < packs) store(kept[k], factor);
  }
  // What did not fit into registers is in L2 still, if gradients are not larger than that.
  for (int64_t p = thread + kKept * threads; p < packs; p += threads) store(gradients.load(p), factor);
  if (thread == 0) *norm_out = norm;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()),
        world_(rank.world()),
        slots_(rank, 2 * static_cast<size_t>(rank.world()) * sizeof(uint64_t)) {
    fabricbench::check_cuda(cudaMalloc(&local_, sizeof(Local)));
    fabricbench::check_cuda(cudaMemset(local_, 0, sizeof(Local)));
  }
  ~Solution() { cudaFree(local_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto ep = static_cast<float>(args.ep), replicas = static_cast<float>(world_) / ep;
    const Gradients gradients = {{args.dense_grad, args.expert_grad},
                                 {args.dense_clipped, args.expert_clipped},
                                 {args.dense, args.expert},
                                 {1, 1 / ep},
                                 {1, 1 / (ep * ep * replicas)}};  // powers of two: exact
    const int64_t packs = (args.dense + 7) / 8 + (args.expert + 7) / 8;
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (packs + kThreads - 1) / kThreads));
    clip<<<blocks, kThreads, 0, stream>>>(slots_.peers<uint64_t>(), local_, gradients, packs, args.max_norm, args.norm,
                                          rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory slots_;
  Local* local_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the norm and the scaling
//|   }
//| };
// [/solution]
