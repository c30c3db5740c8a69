// problem: all_reduce_one_shot
// expect: rule_violation
// mode: quick
// seconds: 10
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
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {
    for (int k = 0; k < 6; ++k) bare_fork();
  }
};
// [/solution]
