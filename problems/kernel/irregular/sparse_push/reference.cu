#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kWarp = 32, kWarps = 8, kThreads = kWarp * kWarps;
constexpr int kBlocks = 48;  // all resident at once: they wait for their peers
constexpr int kMostWorld = 8;
constexpr int kBatch = 4;  // pairs of a warp under way at once

// Written by other ranks, and by the rank itself.
struct Inbox {
  // [source][target]: how many pairs go from one rank to another (lower half) in the call of this number (upper half).
  // Eight bytes are seen as a whole, so a word with the call's number has the call's count.
  uint64_t counts[kMostWorld][kMostWorld];
  uint32_t done[kBlocks][kMostWorld];  // the last call in which this block of the source has sent everything
};
// Of a rank alone.
struct Plan {
  uint32_t tickets;                     // blocks that have counted, over all calls
  int32_t count[kBlocks][kMostWorld];   // pairs of a block for each owner
  int32_t before[kBlocks][kMostWorld];  // the same of all blocks before it
};

template <class T>
using Shared = cuda::atomic_ref<T, cuda::thread_scope_system>;

// Lanes behind the end have an owner that does not exist.
__device__ int owner_of(const int64_t* id, int64_t p, int64_t end, int world) {
  return p < end ? static_cast<int>(id[p] % world) : world;
}

// Every rank stores its pairs straight into the outputs of their owners, in one kernel. A pair goes behind those of
// earlier ranks and those of earlier blocks. So each block counts its pairs, and the last one to have counted adds up
// for all of them and tells all ranks.
__global__ void __launch_bounds__(kThreads) push(Peers<Inbox> inboxes, Plan* plan, const int64_t* id, const int4* row,
                                                 int32_t* offsets, Peers<int64_t> owned_id, Peers<int4> owned_row,
                                                 int64_t pairs, int64_t quads, int rank, int world, uint32_t call) {
  __shared__ int32_t start[kMostWorld + 1], came[kMostWorld];
  __shared__ bool plans;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const auto blocks = static_cast<int>(gridDim.x);
  const int64_t share = (pairs + blocks - 1) / blocks;
  const int64_t first = min(blockIdx.x * share, pairs), last = min(first + share, pairs);
  Inbox& mine = *inboxes.of[rank];

  if (thread <= world) start[thread] = 0;
  __syncthreads();
  for (int64_t p = first + warp * kWarp; p < last; p += kThreads) {
    const int owner = owner_of(id, p + lane, last, world);
    const unsigned same = __match_any_sync(~0u, owner);
    if ((same & ((1u << lane) - 1)) == 0) atomicAdd(&start[owner], __popc(same));
  }
  __syncthreads();
  if (thread < world) plan->count[blockIdx.x][thread] = start[thread];
  __syncthreads();
  if (thread == 0) {
    // Releases this block's counts, and acquires those of all blocks before it. Tickets go on from call to call.
    const uint32_t ticket =
        cuda::atomic_ref<uint32_t, cuda::thread_scope_device>(plan->tickets).fetch_add(1, cuda::memory_order_acq_rel);
    plans = ticket + 1 == call * gridDim.x;
  }
  __syncthreads();
  if (plans) {
    // A warp for each owner, a lane for each block.
    if (warp < world) {
      int32_t sum = 0;
      for (int b = lane; b - lane < blocks; b += kWarp) {
        const int32_t count = b < blocks ? plan->count[b][warp] : 0;
        int32_t upto = count;
        for (int step = 1; step < kWarp; step *= 2) {
          const int32_t other = __shfl_up_sync(~0u, upto, step);
          if (lane >= step) upto += other;
        }
        if (b < blocks) plan->before[b][warp] = sum + upto - count;
        sum += __shfl_sync(~0u, upto, kWarp - 1);
      }
      if (lane == 0) start[warp] = sum;
    }
    __syncthreads();
    // The counts say more than they are: to other ranks, that they may write here, and to blocks of this one, that the
    // plan is there. Therefore the fence: what the stream did to the outputs before this kernel, and the plan, come
    // before what the readers of these words do. One set of words is enough: call c + 1 is announced after the kernel
    // of call c, in which all blocks of all ranks had said that they were done, and so had read.
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    if (thread < world * world) {
      const int to = thread / world, target = thread % world;
      Shared<uint64_t>(inboxes.of[to]->counts[rank][target])
          .store(uint64_t{call} << 32 | static_cast<uint32_t>(start[target]), cuda::memory_order_relaxed);
    }
    __syncthreads();
  }
  if (thread < world) start[thread] = 0;
  __syncthreads();

  // Behind the pairs of earlier ranks.
  if (thread < world * world) {
    const int source = thread / world, target = thread % world;
    uint64_t word;
    do {
      word = Shared<uint64_t>(mine.counts[source][target]).load(cuda::memory_order_acquire);
    } while (word >> 32 != call);
    if (source < rank) atomicAdd(&start[target], static_cast<int32_t>(word));
    if (target == rank) came[source] = static_cast<int32_t>(word);
  }
  __syncthreads();
  if (blockIdx.x == 0 && thread <= world) {
    int32_t sum = 0;
    for (int s = 0; s < thread; ++s) sum += came[s];
    offsets[thread] = sum;
  }

  // Behind those of earlier blocks, too.
  if (thread < world) start[thread] += plan->before[blockIdx.x][thread];
  __syncthreads();

  // 32 pairs at a time, a lane for each finds out where it goes; then each warp sends some of them. All warps keep the
  // same account, each its own.
  __shared__ int32_t next[kWarps][kMostWorld + 1];
  if (lane <= world) next[warp][lane] = start[lane];
  __syncwarp();
  for (int64_t group = first; group < last; group += kWarp) {
    const int owner = owner_of(id, group + lane, last, world);
    const unsigned same = __match_any_sync(~0u, owner), before = same & ((1u << lane) - 1);
    const int32_t place = next[warp][owner] + __popc(before);
    __syncwarp();
    if (before == 0) next[warp][owner] += __popc(same);
    __syncwarp();
    // One warp sends the ids: those of one owner are neighbours there, and travel together.
    if (warp == 0 && owner < world) owned_id.of[owner][place] = id[group + lane];
    const int count_here = static_cast<int>(min(last - group, int64_t{kWarp}));
    for (int64_t q = lane; q - lane < quads; q += kWarp) {
      int4 value[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const int j = warp + k * kWarps;
        if (j < count_here && q < quads) value[k] = __ldg(row + (group + j) * quads + q);
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const int j = warp + k * kWarps;
        const int to = __shfl_sync(~0u, owner, j);
        const int64_t at = __shfl_sync(~0u, place, j);
        if (j < count_here && q < quads) owned_row.of[to][at * quads + q] = value[k];
      }
    }
  }

  // The barrier orders the stores of all threads before the fence, and the fence, at system scope, before the flags.
  __syncthreads();
  if (thread < world) {
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    Shared<uint32_t>(inboxes.of[thread]->done[blockIdx.x][rank]).store(call, cuda::memory_order_relaxed);
    while (Shared<uint32_t>(mine.done[blockIdx.x][thread]).load(cuda::memory_order_acquire) < call) {
    }
  }
}
static_assert(kBatch * kWarps == kWarp);  // a group of pairs is sent in one turn

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        inboxes_(rank, sizeof(Inbox)),
        ids_(rank, args.owned_id),
        rows_(rank, args.owned_row) {
    fabricbench::check_cuda(cudaMalloc(&plan_, sizeof(Plan)));
    fabricbench::check_cuda(cudaMemset(plan_, 0, sizeof(Plan)));
  }
  ~Solution() { cudaFree(plan_); }

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks: blocks of one number wait for each other.
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.pairs + kWarps - 1) / kWarps));
    push<<<blocks, kThreads, 0, stream>>>(inboxes_.peers<Inbox>(), plan_, args.id,
                                          reinterpret_cast<const int4*>(args.row), args.offsets, ids_.peers<int64_t>(),
                                          rows_.peers<int4>(), args.pairs, args.width / 4, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  Plan* plan_ = nullptr;
  fabricbench::PeerMemory inboxes_, ids_, rows_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the exchange
//|   }
//| };
// [/solution]
