// problem: all_reduce_one_shot
// expect: compile_error
// mode: quick
// seconds: 60
// about: A constant that takes for ever to compute.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr unsigned long spin() {
  unsigned long k = 0;
  while (k != ~0ul) ++k;
  return k;
}
constexpr unsigned long kSpun = spin();

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {}
};
// [/solution]
