// problem: all_gather_ll
// expect: pass
// mode: quick
// seconds: 40
// about: Every word travels with the number of its call in 8 bytes: right for all values, also those of numbers and of
// fresh memory.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kThreads = 256;

__global__ void gather(Peers<uint64_t> box, const uint32_t* in, uint32_t* out, int64_t n, int rank, int world,
                       uint32_t call) {
  using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;
  const int64_t set = call % 2 * world * n;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const uint64_t word = uint64_t{call} << 32 | in[i];
    for (int peer = 0; peer < world; ++peer)
      Word(box.of[peer][set + rank * n + i]).store(word, cuda::memory_order_relaxed);
  }
  for (int64_t i = threadIdx.x; i < world * n; i += kThreads) {
    uint64_t word;
    do {
      word = Word(box.of[rank][set + i]).load(cuda::memory_order_relaxed);
    } while (word >> 32 != call);
    out[i] = static_cast<uint32_t>(word);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), box_(rank, sizeof(uint64_t) * 2 * args.n * rank.world()) {}
  void run(const Args& args, cudaStream_t stream) {
    gather<<<1, kThreads, 0, stream>>>(box_.peers<uint64_t>(), args.in, args.out, args.n, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory box_;
};
// [/solution]
