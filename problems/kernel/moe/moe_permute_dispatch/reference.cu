#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
// Where a row belongs depends on the counts of all ranks. Rows do not wait for them: each goes at once to an inbox at
// its expert's rank, where every source has a part of its own. When all rows and counts are there, rows are moved to
// their places: memory is nine times as fast as links, and the way there and back of the counts is saved.
constexpr int kWarp = 32, kThreads = 128;
constexpr int kMostBlocks = 128;  // all resident at once: they wait for their peers
constexpr int kMostWorld = 8, kMostLocal = 64;
constexpr int kBatch = 4;  // loads of a thread before its stores

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Memory of one rank that others write. Two sets, used in turn. In call e a rank writes what its owner has read in call
// e - 2: the writer's call e - 1 has ended since, after the owner's flag of call e - 1, which the owner posted in a
// kernel that its stream started after that of call e - 2. No permission is needed.
struct Inbox {
  uint4* rows;        // [call % 2][source][room][hidden / 8]
  int4* origin;       // [call % 2][source][room]: choice, expert, place among the source's rows of the expert
  int* counts;        // [call % 2][source][local]
  uint32_t* arrived;  // [source]: the last call whose rows and counts are there
};
struct Inboxes {
  Inbox of[kMostWorld];
};

__device__ void copy(uint4* to, const uint4* from, int vectors) {
  for (int first = static_cast<int>(threadIdx.x); first < vectors; first += kBatch * kThreads) {
    uint4 part[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      if (first + b * kThreads < vectors) part[b] = from[first + b * kThreads];
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      if (first + b * kThreads < vectors) to[first + b * kThreads] = part[b];
    }
  }
}

// A block sends the row of one choice. Choices are few: each warp counts those before this one itself.
__device__ void send_row(const Args& args, const Inboxes& inboxes, int choice, int expert, int64_t set, int64_t room,
                         int rank) {
  const int choices = static_cast<int>(args.tokens * args.k), local = static_cast<int>(args.local);
  const int owner = expert / local, lane = static_cast<int>(threadIdx.x) % kWarp;
  int earlier = 0, place = 0;  // our rows for the rank's experts before this one, and for this one
  for (int first = 0; first < choices; first += kWarp) {
    const int i = first + lane, id = i < choices ? __ldg(args.ids + i) : -1;
    earlier += __popc(__ballot_sync(~0u, id >= owner * local && id < expert));
    place += __popc(__ballot_sync(~0u, id == expert && i < choice));
  }
  const int64_t vectors = args.hidden / 8, slot = (set + rank) * room + earlier + place;
  const Inbox& to = inboxes.of[owner];
  copy(to.rows + slot * vectors, reinterpret_cast<const uint4*>(args.x) + choice / args.k * vectors,
       static_cast<int>(vectors));
  if (threadIdx.x == 0) to.origin[slot] = {rank * choices + choice, expert - owner * local, place, 0};
}

__device__ void send_counts(const Args& args, const Inboxes& inboxes, int64_t set, int rank, int world) {
  __shared__ int counts[kMostWorld * kMostLocal];
  const int choices = static_cast<int>(args.tokens * args.k), local = static_cast<int>(args.local);
  for (int e = static_cast<int>(threadIdx.x); e < world * local; e += kThreads) counts[e] = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < choices; i += kThreads) {
    if (const int id = __ldg(args.ids + i); id >= 0) atomicAdd(&counts[id], 1);
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < world * local; e += kThreads)
    inboxes.of[e / local].counts[(set + rank) * local + e % local] = counts[e];
}

// begin[l * world + s]: the row at which expert l's rows from rank s begin; at the end, the number of rows.
__device__ void place_rows(int* begin, const int* counts, int local, int world) {
  constexpr int kEach = kMostWorld * kMostLocal / kThreads;  // adjacent elements of a thread
  __shared__ int of_warp[kThreads / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  int count[kEach], sum = 0;
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    const int i = static_cast<int>(threadIdx.x) * kEach + n;
    count[n] = i < local * world ? counts[i % world * local + i / world] : 0;
    sum += count[n];
  }
  int upto = sum;
  for (int step = 1; step < kWarp; step *= 2) {
    const int before = __shfl_up_sync(~0u, upto, step);
    if (lane >= step) upto += before;
  }
  if (lane == kWarp - 1) of_warp[warp] = upto;
  __syncthreads();
  for (int w = 0; w < warp; ++w) upto += of_warp[w];
  int at = upto - sum;
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    const int i = static_cast<int>(threadIdx.x) * kEach + n;
    if (i <= local * world) begin[i] = at;
    at += count[n];
  }
  if (threadIdx.x == kThreads - 1) begin[kThreads * kEach] = at;
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) dispatch(Args args, const __grid_constant__ Inboxes inboxes,
                                                     uint32_t* tickets, int rank, int world, uint32_t call) {
  const int local = static_cast<int>(args.local), choices = static_cast<int>(args.tokens * args.k);
  const int64_t set = call % 2 * world, room = args.tokens * min(args.k, args.local), vectors = args.hidden / 8;
  const auto thread = static_cast<int>(threadIdx.x);

  for (auto choice = static_cast<int>(blockIdx.x); choice < choices; choice += static_cast<int>(gridDim.x)) {
    if (const int expert = __ldg(args.ids + choice); expert >= 0)
      send_row(args, inboxes, choice, expert, set, room, rank);
  }
  // The last block has the fewest choices.
  if (blockIdx.x == gridDim.x - 1) send_counts(args, inboxes, set, rank, world);

  // The last block to finish tells all ranks that everything is there. The barrier puts all threads' stores before the
  // ticket; its release and acquire order them between the blocks of this GPU, and the release of the flag, at system
  // scope, before what its reader does.
  __syncthreads();
  __shared__ bool last;
  if (thread == 0) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> ticket(*tickets);
    last = (ticket.fetch_add(1, cuda::memory_order_acq_rel) + 1) % gridDim.x == 0;
  }
  __syncthreads();
  if (last && thread < world) Flag(inboxes.of[thread].arrived[rank]).store(call, cuda::memory_order_release);
  if (thread < world) {
    while (Flag(inboxes.of[rank].arrived[thread]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();

  __shared__ int begin[kMostWorld * kMostLocal + 1], rows_of[kMostWorld];
  const Inbox& mine = inboxes.of[rank];
  if (thread < kMostWorld) rows_of[thread] = 0;
  place_rows(begin, mine.counts + set * local, local, world);
  for (int i = thread; i < local * world; i += kThreads) {
    if (begin[i + 1] != begin[i]) atomicAdd(&rows_of[i % world], begin[i + 1] - begin[i]);
  }
  __syncthreads();

  // Rows of the inbox, source by source, are dealt to the blocks.
  int source = 0, before = 0;
  for (auto i = static_cast<int>(blockIdx.x); i < begin[local * world]; i += static_cast<int>(gridDim.x)) {
    while (i - before >= rows_of[source]) before += rows_of[source++];
    const int64_t slot = (set + source) * room + i - before;
    const int4 origin = mine.origin[slot];
    const int row = begin[origin.y * world + source] + origin.z;
    copy(reinterpret_cast<uint4*>(args.recv_x) + row * vectors, mine.rows + slot * vectors, static_cast<int>(vectors));
    if (thread == 0) args.recv_from[row] = origin.x;
  }
  if (blockIdx.x == 0) {
    for (int l = thread; l <= local; l += kThreads) args.expert_offsets[l] = begin[l * world];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        rows_(rank, slots(args) * static_cast<size_t>(args.hidden) * sizeof(__nv_bfloat16)),
        origin_(rank, slots(args) * sizeof(int4)),
        counts_(rank, 2 * static_cast<size_t>(world_ * args.local) * sizeof(int)),
        arrived_(rank, kMostWorld * sizeof(uint32_t)) {
    for (int r = 0; r < world_; ++r)
      inboxes_.of[r] = {rows_.at<uint4>(r), origin_.at<int4>(r), counts_.at<int>(r), arrived_.at<uint32_t>(r)};
    fabricbench::check_cuda(cudaMalloc(&tickets_, sizeof(uint32_t)));
    fabricbench::check_cuda(cudaMemset(tickets_, 0, sizeof(uint32_t)));
  }
  ~Solution() { cudaFree(tickets_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kMostBlocks, args.tokens * args.k));
    dispatch<<<blocks, kThreads, 0, stream>>>(args, inboxes_, tickets_, rank_, world_, ++call_);
  }

 private:
  size_t slots(const Args& args) const {
    return 2 * static_cast<size_t>(world_ * args.tokens * std::min(args.k, args.local));
  }

  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory rows_, origin_, counts_, arrived_;
  Inboxes inboxes_{};
  uint32_t* tickets_ = nullptr;  // blocks that have sent everything, over all calls
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the dispatch
//|   }
//| };
// [/solution]
