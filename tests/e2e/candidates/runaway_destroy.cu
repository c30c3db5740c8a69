// problem: all_reduce_one_shot
// expect: wrong
// mode: quick
// seconds: 15
// about: The destructor of rank 0 never returns, but run is wrong before it begins.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  ~Solution() {
    for (volatile uint64_t x = 0; rank_ == 0; x = x + 1) {
    }
  }
  void run(const Args& args, cudaStream_t stream) {}

 private:
  int rank_;
};
// [/solution]
