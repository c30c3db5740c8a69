// problem: all_reduce_one_shot
// expect: fault
// explains: an object that is not a std::exception
// mode: quick
// seconds: 20
// about: run throws something that is no exception.
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
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;
    throw 42;
  }

 private:
  int rank_;
};
// [/solution]
