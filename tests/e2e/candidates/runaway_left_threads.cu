// problem: all_reduce_one_shot
// expect: budget|wrong
// mode: quick
// seconds: 15
// about: run leaves a thread behind that computes for ever, on every rank.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <thread>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args& args, cudaStream_t stream) {
    std::thread([] {
      for (volatile uint64_t x = 0;; x = x + 1) {
      }
    }).detach();
  }

 private:
  int rank_;
};
// [/solution]
