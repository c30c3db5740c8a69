// problem: all_reduce_one_shot
// expect: fault
// explains: ended by SIGSEGV in run
// mode: quick
// seconds: 20
// about: Recurses on the host until the stack is used up.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
int deeper(volatile char* above) {
  volatile char here[4096];
  here[0] = above[0];
  return deeper(here) + here[0];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;
    volatile char first = 1;
    deeper(&first);
  }

 private:
  int rank_;
};
// [/solution]
