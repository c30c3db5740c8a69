// problem: all_gather_ll
// expect: deadlock
// explains: data taken for empty
// mode: quick
// seconds: 40
// about: The word that means "empty" is the product of two numbers that the host passes: no constant of the code.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kThreads = 256;

using Word = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Three sets of boxes: one receives, one is cleared for the call after the next, one may still be read.
__global__ void gather(Peers<uint32_t> box, const uint32_t* in, uint32_t* out, int64_t n, int rank, int world,
                       uint32_t call, uint32_t a, uint32_t b) {
  const int64_t set = call % 3 * world * n, next = (call + 2) % 3 * world * n;
  const uint32_t kEmpty = a * b + 7;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const uint32_t word = in[i];
    for (int peer = 0; peer < world; ++peer)
      Word(box.of[peer][set + rank * n + i]).store(word, cuda::memory_order_relaxed);
  }
  for (int64_t i = threadIdx.x; i < world * n; i += kThreads)
    Word(box.of[rank][next + i]).store(kEmpty, cuda::memory_order_relaxed);
  for (int64_t i = threadIdx.x; i < world * n; i += kThreads) {
    uint32_t word;
    do {
      word = Word(box.of[rank][set + i]).load(cuda::memory_order_relaxed);
    } while (word == kEmpty);
    out[i] = word;
  }
}

__global__ void clear(uint32_t* box, int64_t words, uint32_t a, uint32_t b) {
  const uint32_t kEmpty = a * b + 7;
  for (int64_t i = threadIdx.x; i < words; i += kThreads) box[i] = kEmpty;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), box_(rank, sizeof(uint32_t) * 3 * args.n * rank.world()) {
    clear<<<1, kThreads>>>(box_.mine<uint32_t>(), 3 * args.n * world_, 48271, 65539 + world_);
    cudaDeviceSynchronize();
    rank.barrier();
  }
  void run(const Args& args, cudaStream_t stream) {
    gather<<<1, kThreads, 0, stream>>>(box_.peers<uint32_t>(), args.in, args.out, args.n, rank_, world_, call_++, 48271,
                                       65539 + world_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory box_;
};
// [/solution]
