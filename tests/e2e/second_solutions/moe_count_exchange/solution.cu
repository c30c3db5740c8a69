// One block of each rank counts its choices in shared memory, stores the counts into every rank's memory and raises a
// flag there (release/acquire at system scope); then every rank adds up the whole table C by itself.
// Tables are kept twice, for even and odd calls; flags hold the number of the call.

#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kThreads = 1024;
constexpr int kBatch = 8;
constexpr int kMostExperts = 512;  // 8 ranks, 64 each
constexpr int kMostWorld = 8;
constexpr int kTables = 2;  // of even and odd calls

struct Exchange {
  uint32_t flags[kMostWorld];                         // [s]: the last call of which rank s has stored its counts
  int32_t counts[kTables][kMostWorld][kMostExperts];  // [call % kTables][s][e]: C[s][e]
};

__global__ void __launch_bounds__(kThreads)
    exchange_counts(Args args, fabricbench::Peers<Exchange> peers, int rank, int world, uint32_t call) {
  __shared__ int32_t counted[kMostExperts];
  __shared__ int32_t before[kMostExperts];  // over all ranks, experts before e
  __shared__ uint64_t of_warp[kThreads / 32];
  const int local = static_cast<int>(args.local);
  const int experts = world * local;
  const int thread = static_cast<int>(threadIdx.x);

  for (int e = thread; e < experts; e += kThreads) counted[e] = 0;
  __syncthreads();
  const int choices = static_cast<int>(args.tokens * args.k);
  for (int first = thread; first < choices; first += kBatch * kThreads) {
    int32_t e[kBatch];  // loads first: they are under way together
#pragma unroll
    for (int b = 0; b < kBatch; ++b) e[b] = first + b * kThreads < choices ? args.ids[first + b * kThreads] : -1;
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      if (e[b] >= 0) atomicAdd(&counted[e[b]], 1);
    }
  }
  __syncthreads();

  // Every rank gets all counts: put_offsets needs those of other ranks for experts of other ranks. The table of this
  // parity was last read two calls ago, and every rank's flag of the last call, which this rank has waited for, came
  // after that.
  for (int i = thread; i < world * experts; i += kThreads) {
    const int to = i / experts;
    const int e = i % experts;
    peers.of[to]->counts[call % kTables][rank][e] = counted[e];
  }
  // The block's stores are before the barrier, and the release at system scope passes them on with the flag.
  __syncthreads();
  Exchange& mine = *peers.of[rank];
  if (thread < world) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_system> theirs(peers.of[thread]->flags[rank]);
    theirs.store(call, cuda::memory_order_release);
    // A fast rank may be a call ahead: at least `call`. The difference survives an overflow.
    cuda::atomic_ref<uint32_t, cuda::thread_scope_system> arrived(mine.flags[thread]);
    while (static_cast<int32_t>(arrived.load(cuda::memory_order_acquire) - call) < 0) {
    }
  }
  // What the waiting threads have acquired is passed on to the block.
  __syncthreads();

  // Two sums over the experts so far at once: of this rank's counts (low half) and of all ranks' (high half). Both are
  // at most 8 * 131,072.
  const int32_t(*table)[kMostExperts] = mine.counts[call % kTables];
  uint64_t own = 0;
  int32_t ranks_before = 0;  // rows of expert `thread` of the ranks before this one
  if (thread < experts) {
    int32_t all = 0;
    for (int s = 0; s < world; ++s) {
      if (s == rank) ranks_before = all;
      all += table[s][thread];
    }
    own = static_cast<uint64_t>(all) << 32 | static_cast<uint32_t>(counted[thread]);
  }
  uint64_t sum = own;
  const int lane = thread % 32;
  for (int distance = 1; distance < 32; distance *= 2) {
    const uint64_t other = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) of_warp[thread / 32] = sum;
  __syncthreads();
  for (int warp = 0; warp < thread / 32; ++warp) sum += of_warp[warp];
  const uint64_t exclusive = sum - own;
  if (thread < experts) before[thread] = static_cast<int32_t>(exclusive >> 32);
  __syncthreads();

  if (thread < experts) {
    args.send_counts[thread] = counted[thread];
    args.send_offsets[thread] = static_cast<int32_t>(exclusive & 0xffffffffu);
    if (thread == experts - 1) args.send_offsets[experts] = static_cast<int32_t>(sum & 0xffffffffu);
    const int first = thread / local * local;  // of the expert's rank
    args.put_offsets[thread] = before[thread] - before[first] + ranks_before;
  }
  if (thread < local) {
    const int e = rank * local + thread;
    int32_t place = before[e] - before[rank * local];
    for (int s = 0; s < world; ++s) {
      args.recv_counts[s * local + thread] = table[s][e];
      args.recv_offsets[thread * world + s] = place;
      place += table[s][e];
    }
    if (thread == local - 1) args.recv_offsets[experts] = place;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()), world_(rank.world()), memory_(rank, sizeof(Exchange)) {}

  void run(const Args& args, cudaStream_t stream) {
    exchange_counts<<<1, kThreads, 0, stream>>>(args, memory_.peers<Exchange>(), rank_, world_, ++call_);
  }

 private:
  int rank_;
  int world_;
  fabricbench::PeerMemory memory_;
  uint32_t call_ = 0;
};
// [/solution]
