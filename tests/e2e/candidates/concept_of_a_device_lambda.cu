// problem: push_copy
// expect: pass
// mode: quick
// about: Kernels that take lambdas of the device, under a concept that the host side checks.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include "args.h"

// [solution]
#include <concepts>
#include <cuda/atomic>

template <class F>
  requires std::invocable<F, int64_t>
__global__ void for_each(int64_t n, F work) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x) work(i);
}

class Solution {
  using Word = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  struct Flags {
    uint32_t ready, there;
  };

 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : next_((rank.rank() + 1) % rank.world()),
        previous_((rank.rank() + rank.world() - 1) % rank.world()),
        flags_(rank, sizeof(Flags)),
        out_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const uint32_t call = ++call_;
    Flags *mine = flags_.mine<Flags>(), *next = flags_.at<Flags>(next_), *previous = flags_.at<Flags>(previous_);
    const auto barrier = [=](uint32_t* theirs, uint32_t* own) {
      for_each<<<1, 1, 0, stream>>>(1, [=] __device__(int64_t) {
        Word(*theirs).store(call, cuda::memory_order_release);
        while (Word(*own).load(cuda::memory_order_acquire) < call) {
        }
      });
    };
    barrier(&previous->ready, &mine->ready);
    for_each<<<8, 256, 0, stream>>>(
        args.n, [in = args.in, to = out_.at<uint32_t>(next_)] __device__(int64_t i) { to[i] = in[i]; });
    barrier(&next->there, &mine->there);
  }

 private:
  int next_, previous_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory flags_, out_;
};
// [/solution]
