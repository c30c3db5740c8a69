// problem: all_reduce_one_shot
// expect: budget
// explains: kernel play
// mode: quick
// seconds: 15
// about: Two ranks write to each other for ever: memory changes, nothing is reached.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void play(fabricbench::Peers<uint32_t> words, int rank, int world) {
  using Word = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  for (uint32_t k = 0; Word(words.of[rank][0]).load(cuda::memory_order_acquire) != 0xffffffffu; ++k)
    Word(words.of[(rank + 1) % world][0]).store(k % 1000, cuda::memory_order_release);
}
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), world_(rank.world()), words_(rank, 64) {}
  void run(const Args&, cudaStream_t stream) { play<<<1, 1, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_); }

 private:
  int rank_, world_;
  fabricbench::PeerMemory words_;
};
// [/solution]
