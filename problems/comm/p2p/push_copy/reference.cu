#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kBlocks = 64;  // all resident at once: they wait for blocks of other ranks
constexpr int kThreads = 256;
constexpr int kBatch = 4;  // 16-byte loads that a thread has under way

// In the memory of the rank that waits for them, so that waiting does not use the link. One word per block, so that
// a block waits for its own part only.
struct Flags {
  uint32_t ready[kBlocks];    // written by the next rank: its output may be written
  uint32_t arrived[kBlocks];  // written by the rank before: its part is in our output
};

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

__device__ void post(uint32_t& flag, uint32_t call) { Flag(flag).store(call, cuda::memory_order_release); }
__device__ void wait(uint32_t& flag, uint32_t call) {
  while (Flag(flag).load(cuda::memory_order_acquire) < call) {
  }
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

// What a thread moves at a time: loads first, so that they overlap.
struct Batch {
  uint4 part[kBatch];

  __device__ void load(const uint4* from, int64_t first, int64_t stride, int64_t end) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * stride < end) part[k] = load_vector(from + first + k * stride);
    }
  }
  __device__ void store(uint4* to, int64_t first, int64_t stride, int64_t end) const {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * stride < end) store_vector(to + first + k * stride, part[k]);
    }
  }
};

__global__ void __launch_bounds__(kThreads)
    push(const uint32_t* in, uint32_t* target, int64_t n, Flags* mine, Flags* next, Flags* before, uint32_t call) {
  // Release: what our stream did to `out` before this kernel is over when the rank before sees the flag.
  if (threadIdx.x == 0) post(before->ready[blockIdx.x], call);

  const int64_t thread = blockIdx.x * int64_t{kThreads} + threadIdx.x, threads = gridDim.x * int64_t{kThreads};
  const int64_t vectors = n / 4;
  const auto* from = reinterpret_cast<const uint4*>(in);
  auto* to = reinterpret_cast<uint4*>(target);
  // The first loads depend on no other rank: they are in flight while the next rank gets ready.
  Batch batch;
  batch.load(from, thread, threads, vectors);
  const int64_t last = 4 * vectors + thread;  // of the words that fill no vector
  uint32_t word = 0;
  if (last < n) word = in[last];

  if (threadIdx.x == 0) wait(mine->ready[blockIdx.x], call);
  __syncthreads();
  for (int64_t first = thread; first < vectors;) {
    batch.store(to, first, threads, vectors);
    first += kBatch * threads;
    batch.load(from, first, threads, vectors);
  }
  if (last < n) target[last] = word;

  // The barrier puts the stores of all threads before the release of one. The flag follows them to the same GPU.
  __syncthreads();
  if (threadIdx.x == 0) {
    post(next->arrived[blockIdx.x], call);
    wait(mine->arrived[blockIdx.x], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : next_((rank.rank() + 1) % rank.world()),
        before_((rank.rank() + rank.world() - 1) % rank.world()),
        flags_(rank, sizeof(Flags)),
        outputs_(rank, args.out) {}

  // All ranks use the same number of blocks, because n is the same everywhere; few for little data.
  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, args.n / (4 * kThreads) + 1));
    push<<<blocks, kThreads, 0, stream>>>(args.in, outputs_.at<uint32_t>(next_), args.n, flags_.mine<Flags>(),
                                          flags_.at<Flags>(next_), flags_.at<Flags>(before_), ++call_);
  }

 private:
  int next_, before_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory flags_, outputs_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the push
//|   }
//| };
// [/solution]
