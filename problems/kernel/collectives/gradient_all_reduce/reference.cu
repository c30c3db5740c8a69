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
constexpr int kBlocks = 16;  // all resident at once: they wait for their peers
constexpr int kThreads = 256, kSmallThreads = 128;
constexpr int64_t kMostOneShot = 16384;  // numbers; beyond, bytes cost more than another trip over the links

// One word per block and peer, written by that peer only: the last barrier that it has reached.
struct Flags {
  uint32_t from[kBlocks][kMostWorld];
};

// What the kernels know of the ranks. `peer` counts from this one, so that not all ranks go to rank 0 first.
struct Team {
  Peers<Flags> flags;
  int rank, world;

  __device__ int peer(int step) const { return rank + step < world ? rank + step : rank + step - world; }

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

// Eight numbers, 16 bytes. Of the last ones of a bucket some may be missing.
struct alignas(16) Pack {
  uint32_t word[4];
};

__device__ Pack load_pack(const __nv_bfloat16* from, int64_t pack, int64_t n) {
  from += 8 * pack;
  const int64_t left = n - 8 * pack;
  if (left >= 8) return *reinterpret_cast<const Pack*>(from);
  Pack result{};
#pragma unroll
  for (int k = 0; k < 7; ++k) {
    if (k < left) result.word[k / 2] |= uint32_t{__bfloat16_as_ushort(from[k])} << (k % 2 * 16);
  }
  return result;
}
__device__ void store_pack(__nv_bfloat16* to, int64_t pack, int64_t n, Pack value) {
  to += 8 * pack;
  const int64_t left = n - 8 * pack;
  if (left >= 8) {
    *reinterpret_cast<Pack*>(to) = value;
    return;
  }
#pragma unroll
  for (int k = 0; k < 7; ++k) {
    if (k < left) to[k] = __ushort_as_bfloat16(static_cast<uint16_t>(value.word[k / 2] >> (k % 2 * 16)));
  }
}

// Sums of eight numbers, in float. A bf16 is the upper half of a float; the first of a word is its lower half.
struct Total {
  float2 sum[4] = {};

  __device__ void add(Pack part) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      sum[k].x += __uint_as_float(part.word[k] << 16);
      sum[k].y += __uint_as_float(part.word[k] & 0xffff0000U);
    }
  }
  __device__ Pack rounded() const {
    Pack result;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const __nv_bfloat162 pair = __float22bfloat162_rn(sum[k]);
      result.word[k] = *reinterpret_cast<const uint32_t*>(&pair);
    }
    return result;
  }
};

// Small buckets: every rank sends its numbers to all others, and each adds up all of them. There is one barrier.
//
// Slots [call % 2][sender][pack] on each rank. In call e a rank writes slots that hold numbers of call e - 2. The owner
// has read those: the writer's block and the owner's had a barrier in call e - 1, which the owner's had reached from a
// kernel that its stream started after that of call e - 2 had ended. So two sets are enough, and no permission is
// needed.
__global__ void __launch_bounds__(kSmallThreads)
    one_shot(Team team, Peers<Pack> slots, const __nv_bfloat16* grad, __nv_bfloat16* sum, int64_t n, uint32_t call) {
  const int64_t packs = (n + 7) / 8, set = (call % 2) * team.world * packs;
  const int64_t threads = int64_t{gridDim.x} * kSmallThreads;
  const int64_t first = int64_t{blockIdx.x} * kSmallThreads + threadIdx.x;
  for (int64_t p = first; p < packs; p += threads) {
    const Pack own = load_pack(grad, p, n);
    for (int step = 0; step < team.world; ++step) slots.of[team.peer(step)][set + team.rank * packs + p] = own;
  }
  team.barrier(call);  // the packs of this block have come from all ranks
  for (int64_t p = first; p < packs; p += threads) {
    // In the order of ranks on every rank, so that replicas of the model stay equal in every bit. Unrolled, so that the
    // loads for eight ranks are under way at once.
    Total total;
#pragma unroll 8
    for (int r = 0; r < team.world; ++r) total.add(slots.of[team.rank][set + r * packs + p]);
    store_pack(sum, p, n, total.rounded());
  }
}

// Large buckets: each rank fetches one slice of all ranks' gradients, adds it up, and writes it to all ranks.
__global__ void __launch_bounds__(kThreads)
    two_shot(Team team, Peers<const __nv_bfloat16> grad, Peers<__nv_bfloat16> sum, int64_t n, uint32_t call) {
  team.barrier(2 * call - 1);  // every rank has begun the call: its gradients are there, and its `sum` may be written

  // Slices are whole packs, so that what crosses a link has 16 bytes.
  const int64_t packs = n / 8, begin = packs * team.rank / team.world, end = packs * (team.rank + 1) / team.world;
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x, threads = int64_t{gridDim.x} * kThreads;
  for (int64_t p = begin + thread; p < end; p += threads) {
    Total total;
#pragma unroll 8
    for (int step = 0; step < team.world; ++step) total.add(reinterpret_cast<const Pack*>(grad.of[team.peer(step)])[p]);
    const Pack result = total.rounded();
    for (int step = 0; step < team.world; ++step) reinterpret_cast<Pack*>(sum.of[team.peer(step)])[p] = result;
  }
  // Up to seven numbers are left, dealt out to the ranks one by one.
  if (const int64_t i = 8 * packs + team.rank + thread * team.world; i < n) {
    float total = 0;
    for (int r = 0; r < team.world; ++r) total += __bfloat162float(grad.of[r][i]);
    for (int r = 0; r < team.world; ++r) sum.of[r][i] = __float2bfloat16_rn(total);
  }

  team.barrier(2 * call);  // every rank has read my gradients, and written its slice of my `sum`
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        slots_(rank, 2 * static_cast<size_t>(rank.world() * (std::min(args.n, kMostOneShot) + 7) / 8) * sizeof(Pack)),
        inputs_(rank, args.grad),
        outputs_(rank, args.sum) {}

  void run(const Args& args, cudaStream_t stream) {
    const Team team{flags_.peers<Flags>(), rank_, world_};
    const auto blocks = [](int64_t packs, int threads) {  // the same on all ranks: block b waits for block b
      return static_cast<unsigned>(std::min<int64_t>(kBlocks, packs / threads + 1));
    };
    ++call_;
    if (args.n <= kMostOneShot) {
      one_shot<<<blocks(args.n / 8, kSmallThreads), kSmallThreads, 0, stream>>>(team, slots_.peers<Pack>(), args.grad,
                                                                                args.sum, args.n, call_);
    } else {
      two_shot<<<blocks(args.n / 8 / world_, kThreads), kThreads, 0, stream>>>(
          team, inputs_.peers<const __nv_bfloat16>(), outputs_.peers<__nv_bfloat16>(), args.n, call_);
    }
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, slots_, inputs_, outputs_;
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
