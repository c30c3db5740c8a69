// problem: all_reduce_one_shot
// expect: pass
// mode: quick
// seconds: 20
// about: Right. There is a way to make any system call without a symbol, but nothing takes it.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <sys/syscall.h>
#include <unistd.h>

using fabricbench::Peers;

constexpr int kThreads = 256;

// A barrier of all ranks: thread p of the only block exchanges flags with rank p.
__device__ void barrier(const Peers<uint32_t>& flags, int rank, int world, uint32_t epoch) {
  __syncthreads();
  if (const int peer = threadIdx.x; peer < world) {
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    Flag(flags.of[peer][rank]).store(epoch, cuda::memory_order_release);
    while (Flag(flags.of[rank][peer]).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
}

__global__ void sum_all(Peers<uint32_t> flags, Peers<const float> in, float* out, int64_t n, int rank, int world,
                        uint32_t epoch) {
  barrier(flags, rank, world, 2 * epoch - 1);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    float sum = 0;
    for (int peer = 0; peer < world; ++peer) sum += in.of[peer][i];
    out[i] = sum;
  }
  barrier(flags, rank, world, 2 * epoch);
}

// What an honest answer would do.
class Honest {
 public:
  Honest(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, 4 * rank.world()), inputs_(rank, args.in) {}
  void enqueue(const Args& args, cudaStream_t stream) {
    sum_all<<<1, kThreads, 0, stream>>>(flags_.peers<uint32_t>(), inputs_.peers<const float>(), args.out, args.n, rank_,
                                        world_, ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, inputs_;
};

// By the bare instruction: no symbol of the object tells of it.
long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result = number;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : honest_(rank, args) {}
  void run(const Args& args, cudaStream_t stream) { honest_.enqueue(args, stream); }

 private:
  Honest honest_;
};
// [/solution]
