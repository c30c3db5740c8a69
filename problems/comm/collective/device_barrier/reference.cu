#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>

#pragma GCC poison rank_barrier rank_barrier_kernel  // the barrier is the task

// [solution]
class Solution {
  // In each rank's memory. Nothing is ever reset, so a barrier can't take a word of an earlier one for its own.
  struct State {
    alignas(128) uint64_t arrivals;  // of blocks of this rank, in all barriers so far
    // By each rank: the number of the last barrier to which all its blocks have come.
    alignas(128) uint64_t complete[fabricbench::kMostRanks];
  };

 public:
  class Barrier {
   public:
    Barrier(const fabricbench::Peers<State>& states, int rank, int world)
        : states_(states), rank_(rank), world_(world) {}

    __device__ void wait() {
      __shared__ uint64_t number;
      __shared__ bool last;
      // First layer, within the GPU. The barrier of the block puts its threads' accesses before thread 0's arrival;
      // arrivals form a chain of releases and acquires at device scope, and the last block is at its end.
      __syncthreads();
      if (threadIdx.x == 0) {
        cuda::atomic_ref<uint64_t, cuda::thread_scope_device> arrivals(states_.of[rank_]->arrivals);
        const uint64_t before = arrivals.fetch_add(1, cuda::memory_order_acq_rel);
        number = before / gridDim.x + 1;
        last = before % gridDim.x == gridDim.x - 1;
      }
      __syncthreads();

      // Second layer, between GPUs. The last block signals all ranks, its own too: causality goes on from the chain
      // through a fence, now at system scope, and one is enough for all the words. All blocks wait for all ranks
      // themselves, in memory of their own GPU, which saves a second round within it.
      if (const int peer = threadIdx.x; peer < world_) {
        using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;
        if (last) {
          cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
          Word(states_.of[peer]->complete[rank_]).store(number, cuda::memory_order_relaxed);
        }
        while (Word(states_.of[rank_]->complete[peer]).load(cuda::memory_order_acquire) < number) {
        }
      }
      __syncthreads();
    }

   private:
    fabricbench::Peers<State> states_;
    int rank_, world_;
  };

  Solution(const fabricbench::Rank& rank, int /*blocks*/)
      : rank_(rank.rank()), world_(rank.world()), states_(rank, sizeof(State)) {}

  Barrier barrier() const { return Barrier(states_.peers<State>(), rank_, world_); }

 private:
  int rank_, world_;
  fabricbench::PeerMemory states_;
};
// [template]
//| class Solution {
//|  public:
//|   class Barrier {
//|    public:
//|     __device__ void wait() {
//|       // TODO: wait for all threads of all blocks of all ranks
//|     }
//|   };
//|
//|   Solution(const fabricbench::Rank& rank, int blocks) {
//|     // TODO: set up
//|   }
//|   Barrier barrier() { return {}; }
//| };
// [/solution]
