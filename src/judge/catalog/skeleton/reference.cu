#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
// Two words of each rank, each written by one neighbour: the number of the call that the neighbour is in.
struct Flags {
  uint32_t input_ready;  // written by the rank before: its input may be read
  uint32_t input_read;   // written by the rank behind: it has read this rank's input
};

// Signals one neighbour and waits for the other. Earlier work on the stream is visible to the signalled rank.
__global__ void signal_and_wait(uint32_t* theirs, uint32_t* mine, uint32_t call) {
  using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  Flag(*theirs).store(call, cuda::memory_order_release);
  while (Flag(*mine).load(cuda::memory_order_acquire) < call) {
  }
}

__global__ void pull(const float* from, float* to, int64_t n) {
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) to[i] = from[i];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : before_((rank.rank() + rank.world() - 1) % rank.world()),
        behind_((rank.rank() + 1) % rank.world()),
        flags_(rank, sizeof(Flags)),
        inputs_(rank, args.in) {}

  void run(const Args& args, cudaStream_t stream) {
    constexpr int kThreads = 256, kMostBlocks = 256;
    const auto blocks = static_cast<int>(std::min<int64_t>(kMostBlocks, (args.n + kThreads - 1) / kThreads));
    Flags* mine = flags_.mine<Flags>();
    ++call_;
    signal_and_wait<<<1, 1, 0, stream>>>(&flags_.at<Flags>(behind_)->input_ready, &mine->input_ready, call_);
    pull<<<blocks, kThreads, 0, stream>>>(inputs_.at<const float>(before_), args.out, args.n);
    signal_and_wait<<<1, 1, 0, stream>>>(&flags_.at<Flags>(before_)->input_read, &mine->input_read, call_);
  }

 private:
  int before_, behind_;
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
//|     // TODO: enqueue the work
//|   }
//| };
// [/solution]
