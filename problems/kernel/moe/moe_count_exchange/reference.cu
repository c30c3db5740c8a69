#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kWarp = 32;
constexpr int kThreads = 512;  // at least as many as experts: in the end each thread deals with one
constexpr int kMostBlocks = 32;
constexpr int kMostWorld = 8, kMostExperts = 512;
static_assert(kThreads >= kMostExperts);

// A count on its way: the call's number in the upper half says that the lower one is there. Both are one value, so that
// nothing has to be ordered, and relaxed accesses are enough; at system scope, as the reader is on another GPU.
using Slot = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

__device__ void send(uint64_t& slot, uint32_t count, uint32_t call) {
  Slot(slot).store(uint64_t{call} << 32 | count, cuda::memory_order_relaxed);
}
__device__ uint32_t receive(uint64_t& slot, uint32_t call) {
  uint64_t bits;
  do {
    bits = Slot(slot).load(cuda::memory_order_relaxed);
  } while (bits >> 32 != call);
  return static_cast<uint32_t>(bits);
}

// The sum of all threads' values up to and including the own one.
__device__ uint64_t inclusive_sum(uint64_t value) {
  __shared__ uint64_t of_warp[kThreads / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int step = 1; step < kWarp; step *= 2) {
    const uint64_t before = __shfl_up_sync(~0u, value, step);
    if (lane >= step) value += before;
  }
  if (lane == kWarp - 1) of_warp[warp] = value;
  __syncthreads();
  for (int w = 0; w < warp; ++w) value += of_warp[w];
  return value;
}

struct Workspace {
  uint32_t tickets;                             // blocks that have counted, over all calls
  uint32_t counts[kMostBlocks * kMostExperts];  // [block][expert]
};

// Blocks count parts of the choices. The last one to finish, whichever it is, adds the parts up, tells all ranks, waits
// for theirs and writes the outputs: no block waits for a block of its own rank.
//
// Slots [call % 2][sender][expert] on each rank. In call e a rank writes slots that hold counts of call e - 2. Their
// owner has read those: before the writer's call e - 1 ended, it had received the owner's counts of call e - 1, which
// the owner sent in a kernel that its stream started after that of call e - 2. So two sets are enough.
__global__ void __launch_bounds__(kThreads)
    exchange(Args args, Workspace* workspace, Peers<uint64_t> slots, int rank, int world, uint32_t call) {
  const int local = static_cast<int>(args.local), experts = world * local, e = static_cast<int>(threadIdx.x);
  __shared__ uint32_t counts[kMostExperts];
  counts[e] = 0;
  __syncthreads();
  const int64_t choices = args.tokens * args.k;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + e; i < choices; i += int64_t{gridDim.x} * kThreads) {
    if (const int32_t id = __ldg(args.ids + i); id >= 0) atomicAdd(&counts[id], 1);
  }
  __syncthreads();
  if (e < experts) workspace->counts[blockIdx.x * kMostExperts + e] = counts[e];

  // The barrier puts all threads' counts before the ticket, whose release and acquire order them between blocks.
  __syncthreads();
  __shared__ bool last;
  if (e == 0) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> tickets(workspace->tickets);
    last = (tickets.fetch_add(1, cuda::memory_order_acq_rel) + 1) % gridDim.x == 0;
  }
  __syncthreads();
  if (!last) return;

  // From here on a thread has an expert, and its count on every rank.
  uint32_t count[kMostWorld] = {}, total = 0, own = 0;
  if (e < experts) {
    for (unsigned b = 0; b < gridDim.x; ++b) own += workspace->counts[b * kMostExperts + e];
    const int set = static_cast<int>(call % 2) * world * experts;
#pragma unroll
    for (int r = 0; r < kMostWorld; ++r) {
      if (r < world && r != rank) send(slots.of[r][set + rank * experts + e], own, call);
    }
#pragma unroll
    for (int s = 0; s < kMostWorld; ++s) {
      if (s < world) count[s] = s == rank ? own : receive(slots.of[rank][set + s * experts + e], call);
      total += count[s];
    }
  }

  // Two sums at once: this rank's counts in the upper half, those of all ranks in the lower one.
  __shared__ uint32_t begin[kMostWorld];  // rows of all experts on ranks before
  const uint64_t upto = inclusive_sum(uint64_t{own} << 32 | total);
  const auto sent = static_cast<uint32_t>(upto >> 32), received = static_cast<uint32_t>(upto);
  const int owner = e / local, l = e % local;
  if (e < experts && l == 0) begin[owner] = received - total;
  __syncthreads();
  if (e >= experts) return;

  args.send_counts[e] = static_cast<int32_t>(own);
  args.send_offsets[e] = static_cast<int32_t>(sent - own);
  if (e == experts - 1) args.send_offsets[experts] = static_cast<int32_t>(sent);
  uint32_t at = received - total - begin[owner];
#pragma unroll
  for (int s = 0; s < kMostWorld; ++s) {
    if (s == rank) args.put_offsets[e] = static_cast<int32_t>(at);
    if (owner == rank && s < world) {
      args.recv_counts[s * local + l] = static_cast<int32_t>(count[s]);
      args.recv_offsets[l * world + s] = static_cast<int32_t>(at);
    }
    at += count[s];
  }
  if (owner == rank && l == local - 1) args.recv_offsets[local * world] = static_cast<int32_t>(at);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        slots_(rank, 2 * static_cast<size_t>(world_ * world_ * args.local) * sizeof(uint64_t)) {
    fabricbench::check_cuda(cudaMalloc(&workspace_, sizeof(Workspace)));
    fabricbench::check_cuda(cudaMemset(workspace_, 0, sizeof(Workspace)));
  }
  ~Solution() { cudaFree(workspace_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks =
        static_cast<int>(std::min<int64_t>(kMostBlocks, (args.tokens * args.k + kThreads - 1) / kThreads));
    exchange<<<blocks, kThreads, 0, stream>>>(args, workspace_, slots_.peers<uint64_t>(), rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the words of fresh memory are 0
  fabricbench::PeerMemory slots_;
  Workspace* workspace_ = nullptr;
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
