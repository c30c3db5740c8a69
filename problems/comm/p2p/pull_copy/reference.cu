#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kBlocks = 64;  // all resident at once: they wait for blocks of other ranks
constexpr int kThreads = 256;
constexpr int kBatch = 4;  // 16-byte loads that a thread has under way: a block has 16 KiB

// In the memory of the rank that waits for them, so that waiting does not use the link. One word per block, so that
// a block waits for its own part only.
struct Flags {
  uint32_t ready[kBlocks];  // written by the next rank: its input holds this call's data
  uint32_t read[kBlocks];   // written by the rank before: it has read its part of our input
};

// Signals one neighbour and waits for the other. What the block did before is before what that neighbour's block does
// after; what the other neighbour's block did before is before what this one does after. That holds for loads too:
// a release keeps those of the whole block, gathered by the barrier, in front of it.
__device__ void signal_and_wait(uint32_t& theirs, uint32_t& mine, uint32_t call) {
  using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  __syncthreads();
  if (threadIdx.x == 0) {
    Flag(theirs).store(call, cuda::memory_order_release);
    while (Flag(mine).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();
}

// 16 bytes in one access. Written as PTX, because a compiler may split the copy of a struct.
__device__ uint4 load_vector(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}
__device__ void store_vector(uint4* to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

__global__ void __launch_bounds__(kThreads)
    pull(const uint32_t* source, uint32_t* out, int64_t n, Flags* mine, Flags* next, Flags* before, uint32_t call) {
  signal_and_wait(before->ready[blockIdx.x], mine->ready[blockIdx.x], call);

  const int64_t thread = blockIdx.x * int64_t{kThreads} + threadIdx.x, threads = gridDim.x * int64_t{kThreads};
  const int64_t vectors = n / 4;
  const auto* from = reinterpret_cast<const uint4*>(source);
  auto* to = reinterpret_cast<uint4*>(out);
  // The words that fill no vector are loaded first, so that they do not cost a trip of their own.
  const int64_t last = 4 * vectors + thread;
  uint32_t word = 0;
  if (last < n) word = source[last];
  for (int64_t first = thread; first < vectors; first += kBatch * threads) {
    uint4 batch[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * threads < vectors) batch[k] = load_vector(from + first + k * threads);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * threads < vectors) store_vector(to + first + k * threads, batch[k]);
    }
  }
  if (last < n) out[last] = word;

  signal_and_wait(next->read[blockIdx.x], mine->read[blockIdx.x], call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : next_((rank.rank() + 1) % rank.world()),
        before_((rank.rank() + rank.world() - 1) % rank.world()),
        flags_(rank, sizeof(Flags)),
        inputs_(rank, args.in) {}

  // All ranks use the same number of blocks, because n is the same everywhere; few for little data.
  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, args.n / (4 * kThreads) + 1));
    pull<<<blocks, kThreads, 0, stream>>>(inputs_.at<const uint32_t>(next_), args.out, args.n, flags_.mine<Flags>(),
                                          flags_.at<Flags>(next_), flags_.at<Flags>(before_), ++call_);
  }

 private:
  int next_, before_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory flags_, inputs_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the pull
//|   }
//| };
// [/solution]
