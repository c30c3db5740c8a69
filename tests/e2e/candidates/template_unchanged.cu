// problem: all_reduce_one_shot
// expect: wrong
// explains: never wrote `out`
// mode: quick
// seconds: 20
// about: The template as it was given.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) {
    // TODO: set up
  }
  void run(const Args& args, cudaStream_t stream) {
    // TODO: enqueue the all-reduce
  }
};
// [/solution]
