// problem: all_reduce_one_shot
// expect: rule_violation
// explains: a system call that is not allowed
// mode: quick
// seconds: 20
// about: Forks by the bare system call.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
long bare_fork() {
  long result = 0;
  __asm__ volatile("syscall" : "=a"(result) : "a"(57L) : "rcx", "r11", "memory");
  return result;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;
    for (int k = 0; k < 6; ++k) bare_fork();
  }

 private:
  int rank_;
};
// [/solution]
